import type { RouterOutputs } from '@parley/client'
import { useParleyClient } from '@parley/client/react'
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { Button } from '../kit/button.tsx'
import { Copy } from '../kit/copy.tsx'
import { Loaded } from '../kit/states.tsx'
import { Status } from '../kit/status.tsx'
import { TableScroll } from '../kit/table-scroll.tsx'
import { Time } from '../kit/time.tsx'
import type { Broadcast } from './broadcast-words.ts'

type ReportData = RouterOutputs['broadcasts']['getReport']

/**
 * The proof of what was sent to whom. The server reads all recipients for it, so it is computed when it is opened, when the
 * status of the broadcast changes and on demand, and not at each event.
 */
export function Report({ broadcast: { id: broadcastId, status } }: { broadcast: Broadcast }) {
  const client = useParleyClient()
  const report = useQuery({
    queryKey: ['report of a broadcast', broadcastId, status],
    queryFn: () => client.broadcasts.getReport.query({ broadcastId }),
    gcTime: 0,
  })
  return (
    <section className="card" aria-label="Report">
      <div className="card-head">
        <h2>Report</h2>
        {report.data && (
          <small className="muted">
            Computed <Time at={new Date(report.dataUpdatedAt)} />
          </small>
        )}
        <Button small className="spread" disabled={report.isFetching} onClick={() => void report.refetch()}>
          Compute again
        </Button>
      </div>
      <Loaded query={report} height={160}>
        {(data) => (
          <div className="card-body stack">
            <Checks report={data} />
            <Doubts doubts={data.doubts} />
          </div>
        )}
      </Loaded>
    </section>
  )
}

function Checks({ report: { countsAddUp, counts, acceptedTwice, doubts, snapshot } }: { report: ReportData }) {
  return (
    <>
      <ul className="checks">
        <Check isGood={countsAddUp} words={countsAddUp ? 'Counts add up' : 'Counts do not add up'}>
          {countsAddUp
            ? `Each of the ${counts.total.toLocaleString('en')} recipients is counted in exactly one status.`
            : 'Some recipient is counted in no status or in two. Verify the broadcast with the command of the documentation.'}
        </Check>
        <Check isGood={acceptedTwice.length === 0} words={`${acceptedTwice.length} accepted twice`}>
          {acceptedTwice.length === 0
            ? 'The provider accepted at most one message of each recipient.'
            : 'The provider accepted more than one message of these recipients.'}
        </Check>
        <Check isGood={doubts.open === 0} words={`${doubts.open} open doubts`}>
          {doubts.total === 0
            ? 'It was never in doubt if the provider had accepted a message.'
            : `${doubts.total - doubts.open} of ${doubts.total} doubts are settled.`}
        </Check>
      </ul>
      {acceptedTwice.length > 0 && (
        <ul aria-label="Accepted twice">
          {acceptedTwice.map(({ recipientId, contactId, address, acceptedCount }) => (
            <li key={recipientId}>
              <Link href={`/contacts/${contactId}`}>{address ?? contactId}</Link>: {acceptedCount} messages
            </li>
          ))}
        </ul>
      )}
      {snapshot && (
        <dl className="facts">
          <dt>Recipients listed</dt>
          <dd>
            <Time at={snapshot.at} />
          </dd>
          <dt>Hash of the list</dt>
          <dd>
            <Copy text={snapshot.hash} label="hash" shown={`${snapshot.hash.slice(0, 16)}…`} />
          </dd>
        </dl>
      )}
    </>
  )
}

function Check({ isGood, words, children }: { isGood: boolean; words: string; children: ReactNode }) {
  return (
    <li className="row">
      <Status status={isGood ? 'passed' : 'failed'} label={words} />
      <span>{children}</span>
    </li>
  )
}

function Doubts({ doubts }: { doubts: ReportData['doubts'] }) {
  if (doubts.items.length === 0) return null
  return (
    <TableScroll label="Doubts">
      <table>
        <thead>
          <tr>
            <th scope="col">Recipient</th>
            <th scope="col">Status</th>
            <th scope="col">In doubt since</th>
            <th scope="col">Settled</th>
          </tr>
        </thead>
        <tbody>
          {doubts.items.map(({ recipientId, contactId, address, status, doubtedAt, settledAt, settledBy }) => (
            <tr key={recipientId}>
              <td>
                <Link href={`/contacts/${contactId}`}>{address ?? contactId}</Link>
              </td>
              <td>
                <Status status={status} />
              </td>
              <td>
                <Time at={doubtedAt} />
              </td>
              <td>
                {settledAt === null ? <span className="muted">not yet</span> : <Time at={settledAt} />}
                {settledBy && ` by ${settledBy === 'provider' ? 'the provider' : 'a member'}`}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </TableScroll>
  )
}
