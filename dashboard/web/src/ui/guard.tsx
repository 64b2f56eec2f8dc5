// What cannot be shown must not take the rest of the page with it.

import { Component, type ComponentChildren } from 'preact';
import { Alert, Button } from './parts';

interface Props {
  /** The address that is shown: what has failed for one may be shown for another. */
  address: string;
  children: ComponentChildren;
}

interface State {
  failed?: { why: string; address: string } | undefined;
}

export class Guard extends Component<Props, State> {
  override state: State = {};

  static override getDerivedStateFromProps({ address }: Props, { failed }: State): State | null {
    return failed && failed.address !== address ? { failed: undefined } : null;
  }

  override componentDidCatch(error: unknown): void {
    this.setState({ failed: { why: String(error).slice(0, 300), address: this.props.address } });
  }

  override render() {
    const { failed } = this.state;
    if (!failed) return this.props.children;
    return (
      <Alert kind="danger" live title="This part of the page has failed.">
        {failed.why} <Button kind="link" small onClick={() => location.reload()}>Load the page again</Button>
      </Alert>
    );
  }
}
