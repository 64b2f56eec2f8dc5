// What cannot be shown must not take the rest of the page with it.

import { Component, type ComponentChildren } from 'preact';
import { Alert, Button } from './parts';

export class Guard extends Component<{ children: ComponentChildren }, { failed?: string }> {
  override state: { failed?: string } = {};

  override componentDidCatch(error: unknown): void {
    this.setState({ failed: String(error).slice(0, 300) });
  }

  override render() {
    if (this.state.failed === undefined) return this.props.children;
    return (
      <Alert kind="danger" live title="This part of the page has failed.">
        {this.state.failed} <Button kind="link" small onClick={() => location.reload()}>Load the page again</Button>
      </Alert>
    );
  }
}
