import type { RouterOutputs } from '@parley/client'
import { useParley } from '@parley/client/react'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { type ReactNode, useRef } from 'react'
import { Link } from 'wouter'
import { Button } from '../kit/button.tsx'
import { Copy } from '../kit/copy.tsx'
import { Page } from '../kit/page.tsx'
import { Empty, Loading, Problem } from '../kit/states.tsx'
import { Status } from '../kit/status.tsx'
import { TableScroll } from '../kit/table-scroll.tsx'
import { formatDuration, Time } from '../kit/time.tsx'
import { useHrefWith, useUrlState } from '../kit/url-state.ts'
import { useShortcuts } from '../kit/shortcuts.ts'
import '../styles/runs.css'
import { WAITED } from './run-facts.tsx'
import { FAILURES, RunFilters, useContactNames, useRunFilters } from './run-filters.tsx'

type RunPage = RouterOutputs['runs']['list']
type Run = RunPage['items'][number]

const PAGE = 50
/** Number of failed runs that are shown before the others. */
const FAILED = 5

export default function RunsPage() {
  const { isFiltered, clear } = useRunFilters()
  const contacts = useContactNames()
  const [status, setStatus] = useUrlState('status')
  const { failed, all, isPending, error } = useRuns()
  useShortcuts({ f: () => setStatus(status === FAILURES ? '' : FAILURES) })
  const total = isPending ? undefined : all.data?.pages[0]
  const shown = new Set(failed?.items.map(({ id }) => id))
  const others = all.data?.pages.flatMap(({ items }) => items).filter(({ id }) => !shown.has(id)) ?? []
  const isEmpty = shown.size === 0 && others.length === 0
  return (
    <Page title="Runs" aside={total && <span className="muted">{describeTotal(total)}</span>}>
      <RunFilters contacts={contacts} />
      <Problem error={error} />
      {isPending && <Loading height={480} />}
      {total && isEmpty && <NoRuns isFiltered={isFiltered} onClear={clear} />}
      {!isPending && !isEmpty && (
        <div className="card">
          <RunTable failed={failed} others={others} contacts={contacts} />
          {all.hasNextPage && (
            <div className="runs-more">
              <Button disabled={all.isFetchingNextPage} onClick={() => void all.fetchNextPage()}>
                More
              </Button>
            </div>
          )}
          {all.isFetchNextPageError && <Problem error={all.error} />}
        </div>
      )}
    </Page>
  )
}

/** All runs of the filters, and the newest failed ones unless the filters choose a status, as what a run waits for does. */
function useRuns() {
  const parley = useParley()
  const { filters } = useRunFilters()
  const isGrouped = !('status' in filters) && !('waitingFor' in filters)
  const failed = useQuery(
    parley.runs.list.queryOptions({ ...filters, status: FAILURES, limit: FAILED }, { enabled: isGrouped }),
  )
  const all = useInfiniteQuery(
    parley.runs.list.infiniteQueryOptions(
      { ...filters, limit: PAGE },
      { getNextPageParam: ({ nextCursor }) => nextCursor },
    ),
  )
  // What was read before stays if it cannot be read again.
  const unread = [all, ...(isGrouped ? [failed] : [])].filter(({ data }) => data === undefined)
  return {
    failed: isGrouped ? failed.data : undefined,
    all,
    isPending: unread.some(({ isPending }) => isPending),
    error: unread.find(({ error }) => error !== null)?.error ?? null,
  }
}

function describeTotal({ total, totalCapped }: RunPage): string {
  const count = total.toLocaleString('en-US')
  return `${totalCapped ? 'more than ' : ''}${count} ${total === 1 ? 'run' : 'runs'}`
}

function NoRuns({ isFiltered, onClear }: { isFiltered: boolean; onClear: () => void }) {
  if (isFiltered) return <Empty title="No run matches" action={<Button onClick={onClear}>Clear filters</Button>} />
  return (
    <Empty
      title="No runs yet"
      action={
        <Link href="/playground" className="button primary">
          Open the playground
        </Link>
      }
    >
      A run is one execution of a workflow. Write as a customer to start one.
    </Empty>
  )
}

type TableProps = { failed: RunPage | undefined; others: readonly Run[]; contacts: ReadonlyMap<string, string> }

/** The marked row is the one whose link has the focus, so Enter opens it. */
function RunTable({ failed, others, contacts }: TableProps) {
  const ref = useRef<HTMLTableElement>(null)
  const move = (by: number) => {
    const links = [...(ref.current?.querySelectorAll<HTMLElement>('a.open') ?? [])]
    const marked = links.findIndex((link) => link.closest('tr')?.contains(document.activeElement))
    links[Math.max(0, Math.min(marked + by, links.length - 1))]?.focus()
  }
  useShortcuts({ j: () => move(1), k: () => move(-1) })
  const toRow = (run: Run) => <RunRow key={run.id} run={run} contact={contacts.get(run.contactId ?? '')} />
  const hasFailed = failed !== undefined && failed.items.length > 0
  return (
    <TableScroll label="Table of runs">
      <table className="runs" ref={ref}>
        <thead>
          <tr>
            <th>Status</th>
            <th>Workflow</th>
            <th>Contact</th>
            <th>Trigger</th>
            <th className="number">Steps</th>
            <th>Started</th>
            <th className="number">Duration</th>
            <th>ID</th>
          </tr>
        </thead>
        {hasFailed && (
          <tbody>
            <GroupRow title="Failed or expired">
              <FailedCount failed={failed} />
            </GroupRow>
            {failed.items.map(toRow)}
          </tbody>
        )}
        {others.length > 0 && (
          <tbody>
            {hasFailed && <GroupRow title="All others" />}
            {others.map(toRow)}
          </tbody>
        )}
      </table>
    </TableScroll>
  )
}

function GroupRow({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <tr className="group">
      <th colSpan={8} scope="rowgroup">
        {title} {children}
      </th>
    </tr>
  )
}

/** Leads to the failed runs that are not shown. */
function FailedCount({ failed: { items, total, totalCapped } }: { failed: RunPage }) {
  const toHref = useHrefWith('status')
  if (total <= items.length) return <span className="muted">{total}</span>
  return (
    <>
      <span className="muted">newest {items.length}</span>{' '}
      <Link href={toHref(FAILURES)} replace>
        Show all {totalCapped ? '' : total.toLocaleString('en-US')}
      </Link>
    </>
  )
}

function RunRow({ run, contact }: { run: Run; contact: string | undefined }) {
  return (
    <tr>
      <td>
        <Status status={run.status} />
        {run.mode === 'dry_run' && <div className="hint">dry run</div>}
        {run.waiting && <div className="hint">for {WAITED[run.waiting.for]}</div>}
      </td>
      <td className="main">
        <Link href={`/runs/${run.id}`} className="open">
          {run.workflowName}
        </Link>{' '}
        <span className="muted">{run.draft ? 'draft' : `v${run.workflowVersion}`}</span>
        {run.error && <div className="failure">{run.error.message}</div>}
      </td>
      <td>
        {run.contactId ? (
          <Link href={`/contacts/${run.contactId}`}>{contact ?? `…${run.contactId.slice(-8)}`}</Link>
        ) : (
          <span className="muted">none</span>
        )}
      </td>
      <td>{run.replayOf ? 'replay' : run.trigger.type.replaceAll('_', ' ')}</td>
      <td className="number">{run.stepCount}</td>
      <td>
        <Time at={run.startedAt ?? run.createdAt} />
      </td>
      <td className="number">
        {run.durationMs === null ? <span className="muted">–</span> : formatDuration(run.durationMs)}
      </td>
      <td>
        <Copy text={run.id} label="run ID" />
      </td>
    </tr>
  )
}
