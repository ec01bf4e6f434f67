import type { RouterOutputs } from '@parley/client'
import type { ReactNode } from 'react'
import { useSearchParams } from 'wouter'
import { Button } from '../kit/button.tsx'
import { Copy } from '../kit/copy.tsx'
import { Json } from '../kit/page.tsx'
import { Status } from '../kit/status.tsx'
import { formatDuration, Time } from '../kit/time.tsx'

type Run = RouterOutputs['runs']['get']
type RunStep = RouterOutputs['runs']['listSteps']['steps'][number]

/** All about one step of a run. */
export function StepInspector({ step, run, onReplay }: { step: RunStep; run: Run; onReplay: () => void }) {
  const [, setSearch] = useSearchParams()
  const explain = (messageId: string) =>
    setSearch((current) => new URLSearchParams({ ...Object.fromEntries(current), tab: 'why', message: messageId }), {
      replace: true,
    })
  return (
    <section className="card run-step" aria-labelledby="step-title">
      <div className="card-head">
        <h2 id="step-title">{step.name ?? step.stepId}</h2>
        <Status status={step.status} />
        {run.finishedAt !== null && run.mode === 'live' && (
          <Button small className="spread" onClick={onReplay}>
            Replay from here…
          </Button>
        )}
      </div>
      <div className="stack">
        {step.error && (
          <div className="problem">
            <strong>{step.error.message}</strong>
            <a href={`/docs/errors#step-${step.error.code}`}>What “{step.error.code}” means</a>
          </div>
        )}
        <StepFacts step={step} onExplain={explain} />
        <h3>Input</h3>
        <Json value={step.input ?? undefined} label="Input of the step" />
        <h3>Output</h3>
        <Json value={step.output ?? undefined} label="Output of the step" />
      </div>
    </section>
  )
}

function StepFacts({ step, onExplain }: { step: RunStep; onExplain: (messageId: string) => void }) {
  const { messageId } = step
  return (
    <dl className="facts">
      <Fact title="Step">
        <Copy text={step.stepId} label="step" shown={step.stepId} /> <span className="muted">{step.type}</span>
      </Fact>
      {step.path !== step.stepId && (
        <Fact title="Path">
          <code>{step.path}</code>
        </Fact>
      )}
      <Fact title="Started">
        <Time at={step.startedAt} />
      </Fact>
      <Fact title="Duration">{step.durationMs === null ? 'not finished' : formatDuration(step.durationMs)}</Fact>
      {step.attempt > 1 && <Fact title="Attempts">{step.attempt}</Fact>}
      {step.branch && <Fact title="Branch">{step.branch}</Fact>}
      {step.waitingUntil && step.finishedAt === null && (
        <Fact title="Waits until">
          <Time at={step.waitingUntil} />
        </Fact>
      )}
      {messageId && (
        <Fact title="Message">
          <span className="row">
            {step.delivery && <Status status={step.delivery} />}
            <Copy text={messageId} label="message ID" />
            <Button small onClick={() => onExplain(messageId)}>
              Why this message?
            </Button>
          </span>
        </Fact>
      )}
      {step.reusedFromId && <Fact title="Reused">The result was taken from the original run</Fact>}
      {step.simulated && !step.reusedFromId && <Fact title="Simulated">Nothing was sent or called</Fact>}
      <Fact title="ID">
        <Copy text={step.id} label="ID of the run step" />
      </Fact>
    </dl>
  )
}

function Fact({ title, children }: { title: string; children: ReactNode }) {
  return (
    <>
      <dt>{title}</dt>
      <dd>{children}</dd>
    </>
  )
}
