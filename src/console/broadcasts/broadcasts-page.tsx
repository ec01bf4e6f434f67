import { useParley } from '@parley/client/react'
import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { Button } from '../kit/button.tsx'
import { Page } from '../kit/page.tsx'
import { useRows } from '../kit/rows.ts'
import { Empty, Loaded, Problem } from '../kit/states.tsx'
import { Status } from '../kit/status.tsx'
import { TableScroll } from '../kit/table-scroll.tsx'
import { Time } from '../kit/time.tsx'
import '../styles/broadcasts.css'
import { type Broadcast, describeCounts } from './broadcast-words.ts'
import { Segments } from './segments.tsx'

const PAGE = 50

export default function BroadcastsPage() {
  const parley = useParley()
  const broadcasts = useInfiniteQuery(
    parley.broadcasts.list.infiniteQueryOptions({ limit: PAGE }, { getNextPageParam: ({ nextCursor }) => nextCursor }),
  )
  const total = broadcasts.data?.pages[0]?.total
  return (
    <Page title="Broadcasts" aside={total !== undefined && <span className="muted">{total.toLocaleString('en')}</span>}>
      <Loaded query={broadcasts} height={320}>
        {({ pages }) => {
          const items = pages.flatMap((page) => page.items)
          return items.length === 0 ? <Nothing /> : <BroadcastTable broadcasts={items} />
        }}
      </Loaded>
      {broadcasts.data && <Problem error={broadcasts.error} />}
      {broadcasts.hasNextPage && (
        <div>
          <Button disabled={broadcasts.isFetchingNextPage} onClick={() => void broadcasts.fetchNextPage()}>
            More
          </Button>
        </div>
      )}
    </Page>
  )
}

function Nothing() {
  return (
    <Empty
      title="No broadcasts yet"
      action={
        <a className="button primary" href="/docs/api#broadcasts">
          How to create a broadcast
        </a>
      }
    >
      A broadcast sends one message to many people, to each at most once. It needs an approved template and an audience,
      such as a tag or a group, and is created by the API.
    </Empty>
  )
}

function BroadcastTable({ broadcasts }: { broadcasts: readonly Broadcast[] }) {
  const marked = useRows(broadcasts.map(({ id }) => `/broadcasts/${id}`))
  return (
    <TableScroll label="List of broadcasts" className="card broadcast-table">
      <table>
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">Status</th>
            <th scope="col">Template</th>
            <th scope="col">Recipients</th>
            <th scope="col">Started</th>
            <th scope="col">Finished</th>
          </tr>
        </thead>
        <tbody>
          {broadcasts.map((broadcast, index) => (
            <tr key={broadcast.id} data-row={index} data-marked={index === marked || undefined}>
              <td>
                <Link href={`/broadcasts/${broadcast.id}`}>{broadcast.name}</Link>
              </td>
              <td>
                <Status status={broadcast.status} />
              </td>
              <td>
                <code>{broadcast.template.name}</code> <span className="muted">{broadcast.template.language}</span>
              </td>
              <td className="broadcast-counts">
                {broadcast.counts.total > 0 && <Segments counts={broadcast.counts} />}
                <small className="muted">{describeCounts(broadcast.counts)}</small>
              </td>
              <td className="nowrap">
                <StartTime {...broadcast} />
              </td>
              <td className="nowrap">
                {broadcast.finishedAt === null ? (
                  <span className="muted">not yet</span>
                ) : (
                  <Time at={broadcast.finishedAt} />
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </TableScroll>
  )
}

function StartTime({ startedAt, scheduledAt }: Broadcast) {
  if (startedAt !== null) return <Time at={startedAt} />
  return scheduledAt === null ? <span className="muted">not yet</span> : <Time at={scheduledAt} />
}
