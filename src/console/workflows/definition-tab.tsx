import { lazy, Suspense, useId, useMemo } from 'react'
import { useSearchParams } from 'wouter'
import { Button } from '../kit/button.tsx'
import { Loading, Problem } from '../kit/states.tsx'
import { JsonEditor } from './json-editor.tsx'
import { findPathPlace, findStepPlace, type JsonPlace } from './json-place.ts'
import { type DefinitionProblem, ProblemList } from './problems.tsx'
import type { Draft } from './use-draft.ts'

const WorkflowGraph = lazy(() => import('../graph/workflow-graph.tsx'))

/** The draft as a graph and as its JSON, which are the same thing: what is chosen in one is marked in the other. */
export function DefinitionTab({ draft }: { draft: Draft }) {
  const [search, setSearch] = useSearchParams()
  const [step, path] = [search.get('step') ?? '', search.get('at') ?? '']
  const { text, definition, check } = draft
  const problems = useMemo(() => [...(check.result?.errors ?? []), ...(check.result?.warnings ?? [])], [check.result])
  const mark = useMemo(() => {
    if (path !== '') return findPathPlace(text, path)
    return step === '' ? undefined : findStepPlace(text, step)
  }, [text, step, path])
  const select = ({ stepId, path: at }: Pick<DefinitionProblem, 'stepId' | 'path'>) => {
    const changed = new URLSearchParams(search)
    changed.set('step', stepId ?? '')
    changed.set('at', at)
    for (const name of ['step', 'at']) if (changed.get(name) === '') changed.delete(name)
    setSearch(changed, { replace: true })
  }
  return (
    <div className="stack">
      <Conflict draft={draft} />
      <div className="definition">
        <section className="card definition-graph" aria-label="Graph">
          <Suspense fallback={<Loading height={320} />}>
            <WorkflowGraph
              definition={definition}
              problems={problems}
              selected={step === '' ? undefined : step}
              onSelect={(stepId) => select({ stepId, path: '' })}
            />
          </Suspense>
        </section>
        <DraftText draft={draft} mark={mark} markKey={`${step} ${path}`} onSelect={select} />
      </div>
      <Problem error={draft.saveError} />
      <Problem error={check.error} />
    </div>
  )
}

type TextProps = {
  draft: Draft
  mark: JsonPlace | undefined
  markKey: string
  onSelect: (problem: DefinitionProblem) => void
}

function DraftText({ draft, mark, markKey, onSelect }: TextProps) {
  const id = useId()
  const { text, check } = draft
  return (
    <section className="card definition-text" aria-label="Draft">
      <div className="card-head">
        <h2>Draft as JSON</h2>
        <CheckState draft={draft} />
        <Button
          kind="primary"
          small
          className="spread"
          title="Ctrl+Enter or ⌘+Enter"
          disabled={!draft.isDirty || draft.isSaving || draft.hasConflict}
          onClick={draft.save}
        >
          {draft.isSaving ? 'Saving' : 'Save draft'}
        </Button>
      </div>
      <JsonEditor
        text={text}
        label="Definition of the draft as JSON"
        onChange={draft.setText}
        onSave={() => draft.isDirty && !draft.isSaving && !draft.hasConflict && draft.save()}
        mark={mark}
        markKey={markKey}
        describedBy={id}
      />
      <div id={id} className="definition-problems" role="status">
        {draft.problem !== undefined && <p className="bad">The text is no JSON. {draft.problem}</p>}
        {draft.problem === undefined && (
          <>
            <ProblemList problems={check.result?.errors ?? []} kind="error" onSelect={onSelect} />
            <ProblemList problems={check.result?.warnings ?? []} kind="warning" onSelect={onSelect} />
          </>
        )}
      </div>
    </section>
  )
}

function CheckState({ draft: { check, problem } }: { draft: Draft }) {
  if (problem !== undefined) return <span className="status tone-bad">Not JSON</span>
  if (check.isChecking) return <span className="status tone-plain">Checking</span>
  if (!check.result) return null
  const { errors, warnings } = check.result
  const count = (number: number, word: string) => `${number} ${word}${number === 1 ? '' : 's'}`
  if (errors.length > 0) return <span className="status tone-bad">{count(errors.length, 'error')}</span>
  if (warnings.length > 0) return <span className="status tone-warn">{count(warnings.length, 'warning')}</span>
  return <span className="status tone-good">No problems</span>
}

/** Asks which of two drafts stays, before either is lost. */
function Conflict({ draft }: { draft: Draft }) {
  if (!draft.hasConflict) return null
  return (
    <div className="problem" role="alert">
      <strong>The draft was saved elsewhere while you edited it</strong>
      <span>Your text is not saved. Choose which of the two stays as the draft.</span>
      <div className="row">
        <Button small onClick={draft.takeStored}>
          Show the newer draft, discard my text
        </Button>
        <Button small onClick={draft.keepText}>
          Keep my text, replace the newer draft
        </Button>
      </div>
    </div>
  )
}
