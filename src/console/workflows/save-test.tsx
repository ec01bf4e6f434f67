import type { RouterInputs } from '@parley/client'
import { useParley } from '@parley/client/react'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { Button } from '../kit/button.tsx'
import { Dialog } from '../kit/dialog.tsx'
import { Problem } from '../kit/states.tsx'
import { toast } from '../kit/toasts.tsx'
import { toTitles } from './chat.tsx'
import { type Dialogue, type Simulation, toTrigger } from './dialogue.ts'
import type { Definition } from './use-draft.ts'

type Expectation = RouterInputs['workflows']['createTest']['expectation']

const PARTS = [
  ['status', 'The result of the run'],
  ['path', 'The steps that it took'],
  ['transcript', 'All messages, word by word'],
] as const
type Part = (typeof PARTS)[number][0]

type Props = {
  workflowId: string
  definition: Definition
  dialogue: Dialogue
  result: Simulation
  isDirty: boolean
  onClose: () => void
}

/** Keeps a dialogue as a test that expects what the simulation did. */
export function SaveTest({ workflowId, definition, dialogue, result, isDirty, onClose }: Props) {
  const parley = useParley()
  const queryClient = useQueryClient()
  const [name, setName] = useState('')
  const [parts, setParts] = useState<readonly Part[]>(['status', 'transcript'])
  const create = useMutation(
    parley.workflows.createTest.mutationOptions({
      onSuccess: () => {
        void queryClient.invalidateQueries({ queryKey: parley.workflows.listTests.queryKey({ workflowId }) })
        toast('Test saved')
        onClose()
      },
    }),
  )
  const toggle = (part: Part) => setParts(parts.includes(part) ? parts.filter((one) => one !== part) : [...parts, part])
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const trigger = toTrigger(definition, dialogue.start)
    create.mutate({
      workflowId,
      name: name.trim(),
      dialogue: [...dialogue.entries],
      startsAt: dialogue.at,
      expectation: toExpectation(result, parts),
      ...(trigger ? { trigger } : {}),
    })
  }
  return (
    <Dialog title="Save as test" onClose={onClose}>
      <form className="body" onSubmit={submit}>
        {isDirty && <p className="note">Tests run on the saved draft. Save your text as well.</p>}
        <label className="field">
          Name
          <input
            required
            maxLength={120}
            placeholder="Answers a question about an order"
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
        </label>
        <fieldset className="plain">
          <legend>Expect the same</legend>
          {PARTS.map(([part, title]) => (
            <label key={part} className="row">
              <input type="checkbox" checked={parts.includes(part)} onChange={() => toggle(part)} /> {title}
            </label>
          ))}
        </fieldset>
        <Problem error={create.error} />
        <div className="footer">
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" type="submit" disabled={create.isPending || name.trim() === '' || parts.length === 0}>
            Save test
          </Button>
        </div>
      </form>
    </Dialog>
  )
}

function toExpectation({ runs: [run], transcript }: Simulation, parts: readonly Part[]): Expectation {
  return {
    ...(parts.includes('status') && run ? { status: run.status } : {}),
    ...(parts.includes('path') ? { path: run?.steps.map(({ stepId }) => stepId) ?? [] } : {}),
    ...(parts.includes('transcript')
      ? { transcript: transcript.map(({ from, body, buttons }) => ({ from, body, buttons: toTitles(buttons) })) }
      : {}),
  }
}
