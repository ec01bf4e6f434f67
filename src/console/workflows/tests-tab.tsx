import type { RouterOutputs } from '@parley/client'
import { useParley } from '@parley/client/react'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'wouter'
import { isObject, toText } from '../kit/narrow.ts'
import { Button } from '../kit/button.tsx'
import { Copy } from '../kit/copy.tsx'
import { Dialog } from '../kit/dialog.tsx'
import { Empty, Loaded } from '../kit/states.tsx'
import { Status } from '../kit/status.tsx'
import { TableScroll } from '../kit/table-scroll.tsx'
import { Time } from '../kit/time.tsx'
import { DefinitionError } from './problems.tsx'

type Test = RouterOutputs['workflows']['listTests']['items'][number]
export type Outcomes = RouterOutputs['workflows']['runTests']
type Outcome = Outcomes['items'][number]

type Props = {
  workflowId: string
  isDirty: boolean
  /** The result of the last run of the tests while this page is open. */
  outcomes: Outcomes | undefined
  onRun: (outcomes: Outcomes) => void
}

export function TestsTab({ workflowId, isDirty, outcomes, onRun }: Props) {
  const parley = useParley()
  const query = useQuery(parley.workflows.listTests.queryOptions({ workflowId }))
  const run = useMutation(parley.workflows.runTests.mutationOptions({ onSuccess: onRun }))
  return (
    <Loaded query={query} height={240}>
      {({ items }) =>
        items.length === 0 ? (
          <Empty
            title="No tests yet"
            action={
              <Link className="button primary" href={`/workflows/${workflowId}?tab=simulate`}>
                Simulate a dialogue
              </Link>
            }
          >
            A test repeats a dialogue and compares what the draft does. Simulate one, then save it as a test.
          </Empty>
        ) : (
          <div className="stack">
            <div className="row">
              <Button kind="primary" disabled={run.isPending} onClick={() => run.mutate({ workflowId })}>
                {run.isPending ? 'Running' : 'Run all'}
              </Button>
              <span role="status" className="muted">
                {outcomes ? summarize(outcomes) : `${items.length} ${items.length === 1 ? 'test' : 'tests'}`}
              </span>
              {isDirty && <span className="warn">Tests run on the saved draft, without your unsaved text.</span>}
            </div>
            <DefinitionError error={run.error} />
            <TestTable items={items} outcomes={outcomes} />
          </div>
        )
      }
    </Loaded>
  )
}

function summarize({ passed, failed, items }: Outcomes): string {
  const left = items.length - passed - failed
  return `${passed} passed, ${failed} failed${left > 0 ? `, ${left} not run` : ''}`
}

function TestTable({ items, outcomes }: { items: readonly Test[]; outcomes: Outcomes | undefined }) {
  const [removed, setRemoved] = useState<Test>()
  return (
    <TableScroll label="Tests" className="card">
      <table className="wide-table">
        <thead>
          <tr>
            <th scope="col">Test</th>
            <th scope="col">Result</th>
            <th scope="col">Dialogue</th>
            <th scope="col">Compares</th>
            <th scope="col">Created</th>
            <th scope="col">ID</th>
            <th scope="col">
              <span className="visually-hidden">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {items.map((test) => (
            <TestRow
              key={test.id}
              test={test}
              outcome={outcomes?.items.find(({ testId }) => testId === test.id)}
              onRemove={() => setRemoved(test)}
            />
          ))}
        </tbody>
      </table>
      {removed && <DeleteTest test={removed} onClose={() => setRemoved(undefined)} />}
    </TableScroll>
  )
}

type RowProps = { test: Test; outcome: Outcome | undefined; onRemove: () => void }

function TestRow({ test, outcome, onRemove }: RowProps) {
  const { id, name, dialogue, expectation, createdAt } = test
  return (
    <tr>
      <td>
        <strong>{name}</strong>
        {outcome && outcome.differences.length > 0 && (
          <ul className="differences" aria-label={`Differences of ${name}`}>
            {outcome.differences.map((difference) => (
              <li key={difference}>{difference}</li>
            ))}
          </ul>
        )}
      </td>
      <td>
        <Status status={outcome?.status ?? 'not_run'} />
      </td>
      <td className="muted">{describeDialogue(dialogue)}</td>
      <td className="muted nowrap">{Object.keys(expectation).map(nameExpectation).join(', ')}</td>
      <td className="nowrap">
        <Time at={createdAt} />
      </td>
      <td>
        <Copy text={id} label="test ID" />
      </td>
      <td>
        <Button small kind="danger" aria-label={`Delete the test ${name}`} onClick={onRemove}>
          Delete
        </Button>
      </td>
    </tr>
  )
}

const EXPECTATIONS: Readonly<Record<string, string>> = { status: 'result', path: 'steps', transcript: 'messages' }

function nameExpectation(name: string): string {
  return EXPECTATIONS[name] ?? name
}

/** The first lines of a dialogue in one. */
function describeDialogue(entries: readonly unknown[]): string {
  const texts = entries.filter(isObject).map((entry) => {
    if (entry['type'] === 'message') return `“${toText(entry['body']) ?? ''}”`
    return entry['type'] === 'advance' ? 'time passes' : `event ${toText(entry['event']) ?? ''}`
  })
  const shown = texts.slice(0, 3).join(', ')
  return texts.length > 3 ? `${shown} and ${texts.length - 3} more` : shown || 'none'
}

function DeleteTest({ test, onClose }: { test: Test; onClose: () => void }) {
  const parley = useParley()
  const queryClient = useQueryClient()
  const { id: testId, workflowId, name } = test
  const remove = useMutation(
    parley.workflows.deleteTest.mutationOptions({
      onSuccess: () => {
        void queryClient.invalidateQueries({ queryKey: parley.workflows.listTests.queryKey({ workflowId }) })
        onClose()
      },
    }),
  )
  return (
    <Dialog title="Delete test" onClose={onClose}>
      <div className="body">
        <p>
          The test <strong>{name}</strong> is deleted for good.
        </p>
        <DefinitionError error={remove.error} />
        <div className="footer">
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="danger" disabled={remove.isPending} onClick={() => remove.mutate({ workflowId, testId })}>
            Delete test
          </Button>
        </div>
      </div>
    </Dialog>
  )
}
