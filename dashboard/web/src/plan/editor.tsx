// The text of a ManagedClustersUpgrade: typed, pasted, or from a file.

import { useState } from 'preact/hooks';
import { Alert, Text } from '../ui/parts';

/** The server reads a megabyte; anything larger is another file by mistake. */
const TOO_LARGE = 1_000_000;

const EXAMPLE = `apiVersion: cluster.open-cluster-management.io/v1beta1
kind: ManagedClustersUpgrade
`;

export function Editor(props: { label: string; value: string; onInput: (value: string) => void }) {
  const [refused, setRefused] = useState<string>();
  const open = async (file: File | undefined) => {
    if (!file) return;
    const isTooLarge = file.size >= TOO_LARGE;
    setRefused(isTooLarge ? file.name : undefined);
    if (!isTooLarge) props.onInput(await file.text());
  };
  return (
    <div class="editor">
      <label>
        <span>{props.label}</span>
        <span class="pf-v6-c-form-control pf-m-textarea">
          <textarea
            value={props.value}
            placeholder={EXAMPLE}
            spellcheck={false}
            rows={18}
            onInput={(event) => {
              setRefused(undefined);
              props.onInput(event.currentTarget.value);
            }}
            onDragOver={(event) => event.preventDefault()}
            onDrop={(event) => {
              if (!event.dataTransfer?.files.length) return;
              event.preventDefault();
              void open(event.dataTransfer.files[0]);
            }}
          />
        </span>
      </label>
      <label class="file">
        Open a file <input type="file" accept=".yaml,.yml,.json" onChange={(event) => void open(event.currentTarget.files?.[0])} />
      </label>
      {refused !== undefined && (
        <Alert kind="danger" title="The file is too large." live>
          <Text of={refused} limit={255} /> has 1 MB or more, and was not opened: the text of an upgrade is smaller.
        </Alert>
      )}
    </div>
  );
}
