import { render } from 'preact';
import './styles/index.css';
import { isTokenLink, takeToken } from './api/token';
import { App } from './app';
import { guardDrafts } from './plan/drafts';
import { Page } from './ui/page';
import { followSystemTheme } from './ui/theme';
import { AppContext } from './ui/use-app';

takeToken();
followSystemTheme();
guardDrafts();
const app = new App();
app.start();
// A new link with a new token may be opened in the same tab: it counts as at the first load, or not at all.
addEventListener('hashchange', () => {
  if (isTokenLink(location.hash)) location.reload();
});
render(
  <AppContext.Provider value={app}>
    <Page />
  </AppContext.Provider>,
  document.getElementById('page') as HTMLElement,
);
