// The text of a ManagedClustersUpgrade: typed, pasted, or from a file.

const EXAMPLE = `apiVersion: cluster.open-cluster-management.io/v1beta1
kind: ManagedClustersUpgrade
`;

export function Editor(props: { label: string; value: string; onInput: (value: string) => void }) {
  const open = async (file: File | undefined) => {
    // The server reads a megabyte; anything larger is another file by mistake.
    if (file && file.size < 1_000_000) props.onInput(await file.text());
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
            onInput={(event) => props.onInput(event.currentTarget.value)}
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
    </div>
  );
}
