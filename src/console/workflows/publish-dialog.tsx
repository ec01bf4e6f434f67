import type { RouterOutputs } from '@parley/client'
import { useParley } from '@parley/client/react'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Button } from '../kit/button.tsx'
import { Dialog } from '../kit/dialog.tsx'
import { Loaded } from '../kit/states.tsx'
import { toast } from '../kit/toasts.tsx'
import { DiffView } from './diff-view.tsx'
import { DefinitionError, ProblemList } from './problems.tsx'
import type { Draft, Workflow } from './use-draft.ts'

type Props = { workflow: Workflow; draft: Draft; onClose: () => void }

/** Makes the saved draft the live version, after a look at what changes. */
export function PublishDialog({ workflow, draft, onClose }: Props) {
  const parley = useParley()
  const queryClient = useQueryClient()
  const [note, setNote] = useState('')
  const { id: workflowId, version } = workflow
  const publish = useMutation(
    parley.workflows.publish.mutationOptions({
      onSuccess: (published) => {
        queryClient.setQueryData(parley.workflows.get.queryKey({ workflowId }), published)
        toast(`Live: version ${published.version}`)
        if (published.warnings.length === 0) onClose()
      },
    }),
  )
  if (publish.data) return <Published workflow={publish.data} onClose={onClose} />
  const errors = draft.check.result?.errors ?? []
  return (
    <Dialog title="Publish" onClose={onClose} className="wide-dialog">
      <form
        className="body"
        onSubmit={(event) => {
          event.preventDefault()
          publish.mutate({ workflowId, ...(note.trim() === '' ? {} : { note: note.trim() }) })
        }}
      >
        {version === null ? (
          <p>The draft becomes version 1. New runs use it at once.</p>
        ) : (
          <Changes workflowId={workflowId} version={version} />
        )}
        {draft.isDirty && (
          <p className="note">Your text is not saved, so it is not part of this. Save the draft first.</p>
        )}
        {!draft.isDirty && errors.length > 0 && !publish.error && (
          <div className="problem">
            <strong>The draft has errors, which prevent publishing</strong>
            <ProblemList problems={errors} kind="error" />
          </div>
        )}
        <Note text={note} onChange={setNote} />
        {publish.error && <DefinitionError error={publish.error} />}
        <div className="footer">
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" type="submit" disabled={publish.isPending || draft.isDirty}>
            {publish.isPending ? 'Publishing' : 'Publish'}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}

function Note({ text, onChange }: { text: string; onChange: (text: string) => void }) {
  return (
    <label className="field">
      Note
      <textarea
        rows={2}
        maxLength={500}
        value={text}
        placeholder="What changes and why, for the list of versions"
        onChange={(event) => onChange(event.target.value)}
      />
    </label>
  )
}

type Published = RouterOutputs['workflows']['publish']

function Published({ workflow, onClose }: { workflow: Published; onClose: () => void }) {
  return (
    <Dialog title={`Version ${workflow.version} is live`} onClose={onClose}>
      <div className="body">
        <p>It was published with warnings.</p>
        <ProblemList problems={workflow.warnings} kind="warning" />
        <div className="footer">
          <Button kind="primary" onClick={onClose}>
            Close
          </Button>
        </div>
      </div>
    </Dialog>
  )
}

function Changes({ workflowId, version }: { workflowId: string; version: number }) {
  const parley = useParley()
  const query = useQuery(parley.workflows.diff.queryOptions({ workflowId, from: String(version), to: 'draft' }))
  return (
    <section className="stack">
      <h3>Changes since version {version}</h3>
      <div className="diff-scroll" tabIndex={0} role="region" aria-label="Changes">
        <Loaded query={query}>{(diff) => <DiffView diff={diff} />}</Loaded>
      </div>
    </section>
  )
}
