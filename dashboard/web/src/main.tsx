import { render } from 'preact';
import './styles/index.css';
import { takeToken } from './api/token';
import { App } from './app';
import { Page } from './ui/page';
import { followSystemTheme } from './ui/theme';
import { AppContext } from './ui/use-app';

takeToken();
followSystemTheme();
const app = new App();
app.start();
// A new link with a new token may be opened in the same tab.
addEventListener('hashchange', () => {
  if (!location.hash.startsWith('#token=')) return;
  takeToken();
  location.reload();
});
render(
  <AppContext.Provider value={app}>
    <Page />
  </AppContext.Provider>,
  document.getElementById('page') as HTMLElement,
);
