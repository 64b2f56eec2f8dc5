// Asks about an upgrade, for as long as it is there and may be seen.

import type { ComponentProps } from 'preact';
import { ActionDialog } from '../ui/action-dialog';
import { useGone } from '../ui/gone';

export function UpgradeDialog({ upgrade, ...props }: { upgrade: string } & Omit<ComponentProps<typeof ActionDialog>, 'gone'>) {
  return <ActionDialog {...props} gone={useGone(upgrade)} />;
}
