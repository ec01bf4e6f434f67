import '../styles/workflows.css'
import type { RouterOutputs } from '@parley/client'
import { useParley } from '@parley/client/react'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'wouter'
import { Button } from '../kit/button.tsx'
import { Copy } from '../kit/copy.tsx'
import { Page } from '../kit/page.tsx'
import { useRows } from '../kit/rows.ts'
import { Empty, Loaded } from '../kit/states.tsx'
import { Status } from '../kit/status.tsx'
import { Time } from '../kit/time.tsx'
import { useUrlState } from '../kit/url-state.ts'
import { TableScroll } from '../kit/table-scroll.tsx'
import { NewWorkflow } from './new-workflow.tsx'

type Workflow = RouterOutputs['workflows']['list']['items'][number]

const STATUSES: readonly Workflow['status'][] = ['draft', 'published', 'paused', 'archived']

export default function WorkflowsPage() {
  const parley = useParley()
  const [status, setStatus] = useUrlState('status')
  const [isCreating, setCreating] = useState(false)
  // All of them, as the search of the shell has them already.
  const query = useQuery(parley.workflows.list.queryOptions({}))
  const add = (
    <Button kind="primary" onClick={() => setCreating(true)}>
      New workflow
    </Button>
  )
  return (
    <Page title="Workflows" actions={query.data?.items.length === 0 ? undefined : add}>
      <Loaded query={query} height={320}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty title="No workflows yet" action={add}>
              A workflow answers customers by itself. Create one from a starter, try it with a simulated dialogue, then
              publish it.
            </Empty>
          ) : (
            <>
              <div className="row">
                <label className="row">
                  Status
                  <select value={status} onChange={(event) => setStatus(event.target.value)}>
                    <option value="">All</option>
                    {STATUSES.map((one) => (
                      <option key={one} value={one}>
                        {toLabel(one)}
                      </option>
                    ))}
                  </select>
                </label>
              </div>
              <WorkflowTable items={items.filter((item) => status === '' || item.status === status)} />
            </>
          )
        }
      </Loaded>
      {isCreating && <NewWorkflow onClose={() => setCreating(false)} />}
    </Page>
  )
}

function toLabel(status: string): string {
  return status.charAt(0).toUpperCase() + status.slice(1)
}

function WorkflowTable({ items }: { items: readonly Workflow[] }) {
  const marked = useRows(items.map(({ id }) => `/workflows/${id}`))
  if (items.length === 0) return <Empty title="No workflow has this status">Choose another status.</Empty>
  return (
    <TableScroll label="Workflows" className="card">
      <table className="wide-table">
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">Status</th>
            <th scope="col">Live version</th>
            <th scope="col">Draft</th>
            <th scope="col">Updated</th>
            <th scope="col">ID</th>
          </tr>
        </thead>
        <tbody>
          {items.map((workflow, index) => (
            <WorkflowRow key={workflow.id} workflow={workflow} index={index} isMarked={index === marked} />
          ))}
        </tbody>
      </table>
    </TableScroll>
  )
}

type RowProps = { workflow: Workflow; index: number; isMarked: boolean }

function WorkflowRow({ workflow, index, isMarked }: RowProps) {
  const { id, name, key, status, version, hasUnpublishedChanges, publishedProblems, updatedAt } = workflow
  const [problem] = publishedProblems
  return (
    <tr data-row={index} data-marked={isMarked || undefined}>
      <td>
        <Link href={`/workflows/${id}`}>{name}</Link>
        {isMarked && <span className="visually-hidden"> (marked)</span>}
        {key !== null && <div className="muted mono">{key}</div>}
        {problem !== undefined && (
          <div className="bad" title={publishedProblems.join('\n')}>
            Cannot run: {problem}
          </div>
        )}
      </td>
      <td>
        <Status status={status} />
      </td>
      <td>{version === null ? <span className="muted">none</span> : `v${version}`}</td>
      <td>{hasUnpublishedChanges ? 'Unpublished changes' : <span className="muted">as published</span>}</td>
      <td>
        <Time at={updatedAt} />
      </td>
      <td>
        <Copy text={id} label="workflow ID" />
      </td>
    </tr>
  )
}
