import { useParley } from '@parley/client/react'
import { useQuery } from '@tanstack/react-query'
import { Fragment, useMemo, useState } from 'react'
import { Link } from 'wouter'
import { Button } from '../kit/button.tsx'
import { Copy } from '../kit/copy.tsx'
import { Json, Page } from '../kit/page.tsx'
import { Loading, Problem } from '../kit/states.tsx'
import { Status } from '../kit/status.tsx'
import { formatDuration } from '../kit/time.tsx'
import { useUrlState } from '../kit/url-state.ts'
import { useShortcuts } from '../kit/shortcuts.ts'
import '../styles/run.css'
import '../styles/runs.css'
import { type AlignedStep, alignSteps, type RunStep } from './align-steps.ts'
import { type ComparedRun, CompareTimeline, Differs } from './compare-timeline.tsx'

const ROWS = 100

export default function ComparePage({ runId, otherId }: { runId: string; otherId: string }) {
  const parley = useParley()
  const runs = [
    useQuery(parley.runs.get.queryOptions({ runId })),
    useQuery(parley.runs.get.queryOptions({ runId: otherId })),
  ]
  const steps = [
    useQuery(parley.runs.listSteps.queryOptions({ runId })),
    useQuery(parley.runs.listSteps.queryOptions({ runId: otherId })),
  ]
  const [left, right] = runs.map(({ data }) => data)
  const [before, after] = steps.map(({ data }) => data?.steps)
  const error = [...runs, ...steps].find((query) => query.error)?.error
  if (!left || !right || !before || !after) {
    return (
      <Page title="Compare runs">
        {error ? <Problem error={error} /> : <Loading height={480} />}
        {error !== undefined && error !== null && (
          <p>
            <Link href="/runs">Back to all runs</Link>
          </p>
        )}
      </Page>
    )
  }
  const isReplay = right.replayOf === left.id
  const first = { run: left, steps: before, title: isReplay ? 'Original' : 'First run' }
  const second = { run: right, steps: after, title: isReplay ? 'Replay' : 'Second run' }
  return (
    <Page title="Compare runs">
      <div className="compare-pair">
        <RunCard {...first} />
        <RunCard {...second} />
      </div>
      <Steps left={first} right={second} />
    </Page>
  )
}

function RunCard({ run, title }: ComparedRun) {
  return (
    <section className="card padded stack" aria-label={title}>
      <div className="row">
        <h2>{title}</h2>
        <Status status={run.status} />
        {run.mode === 'dry_run' && <span className="muted">dry run</span>}
      </div>
      <div className="row">
        <Link href={`/runs/${run.id}`}>{run.workflowName}</Link>
        <span className="muted">
          {run.draft ? 'draft' : `version ${run.workflowVersion}`}, {run.stepCount} steps
          {run.durationMs !== null && `, ${formatDuration(run.durationMs)}`}
        </span>
        <Copy text={run.id} label={`ID of the ${title.toLowerCase()}`} />
      </div>
      {run.error && <p className="failure">{run.error.message}</p>}
    </section>
  )
}

type StepsProps = { left: ComparedRun; right: ComparedRun }

function Steps({ left, right }: StepsProps) {
  const rows = useMemo(() => alignSteps(left.steps, right.steps), [left.steps, right.steps])
  const [only, setOnly] = useUrlState('only')
  const [chosen, choose] = useUrlState('step')
  const [max, setMax] = useState(ROWS)
  const isDifferent = ({ differences }: AlignedStep) => differences.length > 0
  const shown = only === 'differences' ? rows.filter(isDifferent) : rows
  const row = rows.find(({ key }) => key === chosen) ?? rows.find(isDifferent) ?? rows[0]
  const toggle = () => setOnly(only === 'differences' ? '' : 'differences')
  const move = (by: number) => {
    const next = shown[shown.findIndex(({ key }) => key === row?.key) + by]
    if (next) choose(next.key)
  }
  useShortcuts({ f: toggle, j: () => move(1), k: () => move(-1) })
  const same = rows.filter((one) => !isDifferent(one)).length
  return (
    <>
      <section className="card" aria-labelledby="steps-title">
        <div className="card-head">
          <h2 id="steps-title">
            {same} of {rows.length} steps are the same
          </h2>
          <Button small className="spread" aria-pressed={only === 'differences'} aria-keyshortcuts="f" onClick={toggle}>
            Differences only <kbd>f</kbd>
          </Button>
        </div>
        <CompareTimeline left={left} right={right} rows={shown.slice(0, max)} chosen={row?.key} onChoose={choose} />
        {shown.length > max && (
          <div className="runs-more">
            <Button onClick={() => setMax(max + ROWS)}>Show {Math.min(ROWS, shown.length - max)} more</Button>
          </div>
        )}
      </section>
      {row && <Values row={row} titles={[left.title, right.title]} />}
    </>
  )
}

type ValuesProps = { row: AlignedStep; titles: readonly [left: string, right: string] }

/** The output and the input of a step in both runs, and which of them differ. */
function Values({ row: { left, right, differences }, titles }: ValuesProps) {
  const step = left ?? right
  const name = step?.name ?? step?.stepId
  const isOther = (value: string) => differences.includes(`other ${value}`)
  const parts = [
    ['Output', isOther('output') || isOther('error'), left?.error ?? left?.output, right?.error ?? right?.output],
    ['Input', isOther('input'), left?.input, right?.input],
  ] as const
  return (
    <section className="stack" aria-label="Values of the step">
      {parts.map(([part, differs, before, after]) => (
        <Fragment key={part}>
          <div className="row">
            <h2>
              {part} of “{name}”
            </h2>
            {left && right && (differs ? <Differs>differs</Differs> : <span className="muted">same in both runs</span>)}
          </div>
          <div className="compare-pair">
            <Value title={titles[0]} part={part} step={left} value={before} />
            <Value title={titles[1]} part={part} step={right} value={after} />
          </div>
        </Fragment>
      ))}
    </section>
  )
}

type ValueProps = { title: string; part: string; step: RunStep | undefined; value: unknown }

function Value({ title, part, step, value }: ValueProps) {
  return (
    <div className="compare-value">
      <small className="muted">{title}</small>
      {step ? <Json value={value ?? undefined} label={`${part}, ${title}`} /> : <p className="muted">not reached</p>}
    </div>
  )
}
