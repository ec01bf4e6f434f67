import { useParley } from '@parley/client/react'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { useLocation } from 'wouter'
import { Button } from '../kit/button.tsx'
import { Dialog } from '../kit/dialog.tsx'
import { Problem } from '../kit/states.tsx'
import { STARTERS } from './starters.ts'

/** Creates a workflow from a starter and opens it. */
export function NewWorkflow({ onClose }: { onClose: () => void }) {
  const parley = useParley()
  const [, go] = useLocation()
  const [chosen, setChosen] = useState(STARTERS[0]?.id)
  const [name, setName] = useState('')
  const create = useMutation(
    parley.workflows.create.mutationOptions({
      onSuccess: ({ id }) => {
        onClose()
        go(`/workflows/${id}`)
      },
    }),
  )
  const starter = STARTERS.find(({ id }) => id === chosen)
  const submit = () => {
    if (starter) create.mutate({ name: name.trim() || starter.title, definition: starter.definition })
  }
  return (
    <Dialog title="New workflow" onClose={onClose}>
      <form
        className="body"
        onSubmit={(event) => {
          event.preventDefault()
          submit()
        }}
      >
        <fieldset className="starters">
          <legend>Start with</legend>
          {STARTERS.map(({ id, title, summary }) => (
            <label key={id} className="starter">
              <input type="radio" name="starter" value={id} checked={id === chosen} onChange={() => setChosen(id)} />
              <span>
                <strong>{title}</strong>
                <span className="muted">{summary}</span>
              </span>
            </label>
          ))}
        </fieldset>
        <label className="field">
          Name
          <input
            value={name}
            maxLength={120}
            placeholder={starter?.title}
            onChange={(event) => setName(event.target.value)}
          />
        </label>
        <Problem error={create.error} />
        <div className="footer">
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" type="submit" disabled={create.isPending}>
            Create workflow
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
