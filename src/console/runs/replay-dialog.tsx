import type { RouterInputs, RouterOutputs } from '@parley/client'
import { useParley } from '@parley/client/react'
import { useMutation, useQuery } from '@tanstack/react-query'
import { type ReactNode, type SubmitEvent, useId, useState } from 'react'
import { Link, useLocation } from 'wouter'
import { Button } from '../kit/button.tsx'
import { Dialog } from '../kit/dialog.tsx'
import { Problem } from '../kit/states.tsx'
import { toast } from '../kit/toasts.tsx'

type Run = RouterOutputs['runs']['get']
type RunStep = RouterOutputs['runs']['listSteps']['steps'][number]
type Replay = RouterInputs['runs']['replay']

type Props = {
  run: Run
  steps: readonly RunStep[]
  /** The step that is chosen at first: the ID of a run step, or `auto`. */
  from: string
  onClose: () => void
}

const MODES = [
  ['dry_run', 'Dry run', 'Sends and calls nothing. Uses the replies and results of the original run'],
  ['live', 'Live', 'Sends messages to the customer and calls other systems'],
] as const

const EFFECTS = [
  ['reuse', 'Reuse', 'Keeps their recorded results'],
  ['rerun', 'Run again', 'Starts over and executes all steps again'],
] as const

/** Asks how to replay a run, and opens the new one. */
export function ReplayDialog({ run, steps, from: initialFrom, onClose }: Props) {
  const [from, setFrom] = useState(initialFrom)
  const [version, setVersion] = useState('original')
  const [mode, setMode] = useState<'live' | 'dry_run'>('dry_run')
  const [effects, setEffects] = useState<'reuse' | 'rerun'>('reuse')
  const [input, setInput] = useInput(run.input)
  const isDraftLive = version === 'draft' && mode === 'live'
  const replay = useReplay(run, onClose)
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault()
    if (input.problem !== undefined || isDraftLive) return
    replay.mutate({
      runId: run.id,
      // A run whose steps are all executed again starts at its start.
      from: effects === 'rerun' ? 'start' : from,
      version: toVersion(version),
      mode,
      effects,
      ...(input.changed === undefined ? {} : { input: input.changed }),
    })
  }
  return (
    <Dialog title="Replay the run" onClose={onClose} className="replay">
      <form className="body" onSubmit={submit}>
        <FromField {...{ steps, from }} isOff={effects === 'rerun'} onChange={setFrom} />
        <VersionField run={run} version={version} onChange={setVersion} />
        <Choices legend="Mode" value={mode} onChange={setMode} options={MODES} />
        <Choices legend="Steps before it" value={effects} onChange={setEffects} options={EFFECTS} />
        <InputField text={input.text} problem={input.problem} onChange={setInput} />
        {isDraftLive && (
          <p className="note" role="alert">
            A draft can only be replayed as a dry run. Publish it to replay it live.
          </p>
        )}
        <Problem error={replay.error} />
        <div className="footer">
          <Button onClick={onClose}>Close</Button>
          <Button
            type="submit"
            kind="primary"
            disabled={replay.isPending || input.problem !== undefined || isDraftLive}
          >
            {mode === 'live' ? 'Replay live' : 'Start the dry run'}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}

function useReplay(run: Run, onDone: () => void) {
  const parley = useParley()
  const [, go] = useLocation()
  return useMutation(
    parley.runs.replay.mutationOptions({
      onSuccess: ({ id }) => {
        onDone()
        go(`/runs/${id}`)
        toast(
          <>
            This is the replay. <Link href={`/runs/${run.id}/compare/${id}`}>Compare with the original</Link>
          </>,
        )
      },
    }),
  )
}

function toVersion(text: string): NonNullable<Replay['version']> {
  return text === 'original' || text === 'published' || text === 'draft' ? text : Number(text)
}

type EditedInput = { text: string; problem: string | undefined; changed: Record<string, unknown> | undefined }

/** The input as a text; `changed` is undefined while it is that of the run. */
function useInput(original: unknown): [EditedInput, (text: string) => void] {
  const initial = JSON.stringify(original ?? {}, null, 2)
  const [text, setText] = useState(initial)
  if (text === initial) return [{ text, problem: undefined, changed: undefined }, setText]
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      return [{ text, problem: undefined, changed: Object.fromEntries(Object.entries(value)) }, setText]
    }
    return [{ text, problem: 'The input must be an object, such as {"order": 12}.', changed: undefined }, setText]
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return [{ text, problem: `This is no JSON: ${reason}`, changed: undefined }, setText]
  }
}

type FromProps = { steps: readonly RunStep[]; from: string; isOff: boolean; onChange: (from: string) => void }

function FromField({ steps, from, isOff, onChange }: FromProps) {
  return (
    <label className="field">
      <small>From</small>
      <select
        value={isOff ? 'start' : from}
        disabled={isOff}
        onChange={(event) => onChange(event.target.value)}
        data-autofocus
      >
        <option value="auto">Where it stopped, or the start if it completed</option>
        <option value="start">The start</option>
        {steps.some(({ status }) => status === 'failed') && <option value="failed">The step that failed</option>}
        <optgroup label="Steps of this run">
          {steps.map(({ id, index, name, stepId, iteration, status }) => (
            <option key={id} value={id}>
              {index + 1}. {name ?? stepId}
              {iteration > 0 ? ` #${iteration + 1}` : ''} ({status})
            </option>
          ))}
        </optgroup>
      </select>
    </label>
  )
}

type VersionProps = { run: Run; version: string; onChange: (version: string) => void }

function VersionField({ run, version, onChange }: VersionProps) {
  const parley = useParley()
  const { data, error } = useQuery(parley.workflows.listVersions.queryOptions({ workflowId: run.workflowId }))
  return (
    <label className="field">
      <small>Version of the workflow</small>
      <select value={version} onChange={(event) => onChange(event.target.value)}>
        <option value="original">The original, version {run.workflowVersion}</option>
        <option value="published">The published one</option>
        <option value="draft">The draft (dry run only)</option>
        <optgroup label="Published versions">
          {data?.items.map(({ version: number, note }) => (
            <option key={number} value={number}>
              Version {number}
              {note ? `: ${note.slice(0, 60)}` : ''}
            </option>
          ))}
        </optgroup>
      </select>
      <Problem error={error} />
    </label>
  )
}

type ChoicesProps<Value extends string> = {
  legend: string
  value: Value
  options: readonly (readonly [value: Value, title: string, description: string])[]
  onChange: (value: Value) => void
}

function Choices<Value extends string>({ legend, value, options, onChange }: ChoicesProps<Value>): ReactNode {
  const name = useId()
  return (
    <fieldset className="choices">
      <legend>{legend}</legend>
      {options.map(([option, title, description]) => (
        <label key={option}>
          <input type="radio" name={name} checked={option === value} onChange={() => onChange(option)} />
          <span>
            {title} <small>{description}</small>
          </span>
        </label>
      ))}
    </fieldset>
  )
}

type InputProps = { text: string; problem: string | undefined; onChange: (text: string) => void }

function InputField({ text, problem, onChange }: InputProps) {
  const id = useId()
  return (
    <div className="field">
      <label htmlFor={id}>
        <small>Input as JSON</small>
      </label>
      <textarea
        id={id}
        className="mono"
        rows={Math.min(8, Math.max(3, text.split('\n').length))}
        spellCheck={false}
        value={text}
        aria-invalid={problem !== undefined}
        aria-describedby={`${id}-problem`}
        onChange={(event) => onChange(event.target.value)}
      />
      <span id={`${id}-problem`} className="failure" role="status">
        {problem}
      </span>
    </div>
  )
}
