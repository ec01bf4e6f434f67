import { lazy, Suspense, useState } from 'react'
import { toTitle } from '../graph/describe-step.ts'
import { Button } from '../kit/button.tsx'
import { Json } from '../kit/page.tsx'
import { Loading } from '../kit/states.tsx'
import { Status } from '../kit/status.tsx'
import { useUrlState } from '../kit/url-state.ts'
import { Chat, Composer } from './chat.tsx'
import { type Dialogue, type Entry, listStarts, newDialogue, type Simulation, useSimulation } from './dialogue.ts'
import { DefinitionError } from './problems.tsx'
import { SaveTest } from './save-test.tsx'
import type { Definition, Draft } from './use-draft.ts'

const WorkflowGraph = lazy(() => import('../graph/workflow-graph.tsx'))

type Props = {
  workflowId: string
  draft: Draft
  dialogue: Dialogue
  onChange: (dialogue: Dialogue) => void
}

/** A dialogue with the draft, as it is edited, on a clock that skips waits. Nothing is sent or stored. */
export function SimulateTab({ workflowId, draft, dialogue, onChange }: Props) {
  const { definition } = draft
  const [step, setStep] = useUrlState('step')
  const [isSaving, setSaving] = useState(false)
  const { result, error, isBusy } = useSimulation(workflowId, dialogue, definition)
  const run = result?.runs.at(-1)
  return (
    <div className="simulation">
      <DialogueCard definition={definition} dialogue={dialogue} result={result} onChange={onChange} />
      <div className="stack">
        <section className="card simulation-graph" aria-label="Path">
          <Suspense fallback={<Loading height={320} />}>
            <WorkflowGraph
              definition={definition}
              steps={run?.steps ?? []}
              selected={step === '' ? undefined : step}
              onSelect={setStep}
            />
          </Suspense>
        </section>
        <DefinitionError error={error} />
        <Outcome
          result={result}
          isBusy={isBusy}
          pending={dialogue.entries.filter(({ type }) => type === 'advance').length}
          onSave={() => setSaving(true)}
        />
        {step !== '' && run && <StepRecord step={run.steps.findLast(({ stepId }) => stepId === step)} />}
      </div>
      {isSaving && result && (
        <SaveTest
          workflowId={workflowId}
          definition={definition}
          dialogue={dialogue}
          result={result}
          isDirty={draft.isDirty}
          onClose={() => setSaving(false)}
        />
      )}
    </div>
  )
}

type CardProps = Pick<Props, 'dialogue' | 'onChange'> & { definition: Definition; result: Simulation | undefined }

function DialogueCard({ definition, dialogue, result, onChange }: CardProps) {
  const add = (entry: Entry) => onChange({ ...dialogue, entries: [...dialogue.entries, entry] })
  const say = (body: string) => add({ type: 'message', body })
  const starts = listStarts(definition)
  return (
    <section className="card phone-card" aria-label="Dialogue">
      <div className="card-head">
        <h2>Dialogue</h2>
        {starts.length > 1 && (
          <label className="row">
            Started by
            <select
              value={dialogue.start}
              onChange={(event) => onChange({ ...newDialogue(), start: event.target.value })}
            >
              {starts.map(([value, title]) => (
                <option key={value} value={value}>
                  {title}
                </option>
              ))}
            </select>
          </label>
        )}
        <span className="row spread">
          <Button
            small
            disabled={dialogue.entries.length === 0}
            onClick={() => onChange({ ...dialogue, entries: dialogue.entries.slice(0, -1) })}
          >
            Undo
          </Button>
          <Button
            small
            disabled={dialogue.entries.length === 0}
            onClick={() => onChange({ ...newDialogue(), start: dialogue.start })}
          >
            Start over
          </Button>
        </span>
      </div>
      {result ? (
        <Chat lines={result.transcript} onTap={say} />
      ) : (
        <p className="chat-empty muted">
          Write as a customer to try the draft. Waits take no time here, and nothing is sent.
        </p>
      )}
      <Composer onMessage={say} onAdvance={(by) => add({ type: 'advance', by })} />
    </section>
  )
}

const OUTCOMES = { finished: 'completed', waiting: 'waiting', not_started: 'skipped' } as const

type OutcomeProps = { result: Simulation | undefined; isBusy: boolean; pending: number; onSave: () => void }

function Outcome({ result, isBusy, pending, onSave }: OutcomeProps) {
  const run = result?.runs.at(-1)
  const label = result && result.outcome === 'not_started' ? 'no run' : undefined
  return (
    <section className="card" aria-label="Outcome">
      <div className="card-head" role="status">
        <h2>Outcome</h2>
        {result && <Status status={run?.status ?? OUTCOMES[result.outcome]} {...(label ? { label } : {})} />}
        {isBusy && <span className="muted">Simulating</span>}
        {result && (
          <Button small className="spread" onClick={onSave}>
            Save as test
          </Button>
        )}
      </div>
      <div className="card-body stack">
        {!result && <p className="muted">The result of the dialogue is shown here.</p>}
        {result?.reason && <p>{result.reason}</p>}
        {run?.error && (
          <p className="bad">
            {run.error.stepId !== null && <code>{run.error.stepId}</code>} {run.error.message}
          </p>
        )}
        {result && result.runs.length > 1 && (
          <p className="muted">There were {result.runs.length} runs. The graph shows the last one.</p>
        )}
        {pending > 0 && <p className="muted">Time was advanced {pending === 1 ? 'once' : `${pending} times`}.</p>}
        {result && <Effects effects={result.effects} />}
      </div>
    </section>
  )
}

/** The changes that the runs would make; the messages are part of the dialogue. */
function Effects({ effects }: { effects: Simulation['effects'] }) {
  const others = effects.filter((effect) => !('messageId' in effect))
  if (others.length === 0) return <p className="muted">No effects but the messages.</p>
  return (
    <>
      <h3>Effects</h3>
      <ul className="effects">
        {others.map(({ at: _at, runId: _runId, stepId, type, ...details }, index) => (
          <li key={index}>
            <span>{toTitle(type)}</span> <code>{stepId}</code>
            {Object.keys(details).length > 0 && (
              <span className="muted mono">{JSON.stringify(details).slice(0, DETAILS_MAX)}</span>
            )}
          </li>
        ))}
      </ul>
    </>
  )
}

const DETAILS_MAX = 200

function StepRecord({ step }: { step: Simulation['runs'][number]['steps'][number] | undefined }) {
  if (!step) return <p className="muted">The dialogue did not reach the selected step.</p>
  return (
    <section className="card" aria-label="Selected step">
      <div className="card-head">
        <h2>{step.name ?? step.stepId}</h2>
        <Status status={step.status} />
        {step.branch !== null && <span className="muted">branch {step.branch}</span>}
      </div>
      <div className="card-body stack">
        {step.error && <p className="bad">{step.error.message}</p>}
        <Json value={{ input: step.input, output: step.output }} label="Input and output of the step" />
      </div>
    </section>
  )
}
