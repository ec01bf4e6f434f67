import { Link, useSearchParams } from 'wouter'
import { Button } from '../kit/button.tsx'
import { Empty, Loading, Problem } from '../kit/states.tsx'
import { useHrefWith, useUrlState } from '../kit/url-state.ts'
import { type Broadcast, RECIPIENT_STATUSES } from './broadcast-words.ts'
import { Cells } from './cells.tsx'
import { RECIPIENTS_MAX, useRecipients } from './recipients.ts'

const SHOWN = 300
/** The first page is read beside the broadcast, before its numbers are known. */
const FIRST = 100

type Props = { broadcastId: string; broadcast: Broadcast | undefined }

/** The recipients as cells, all of them or those of the status that the address names. */
export function RecipientGrid({ broadcastId, broadcast }: Props) {
  const [search] = useSearchParams()
  const [shown, setShown] = useUrlState('shown')
  const status = RECIPIENT_STATUSES.find(([known]) => known === search.get('status'))?.[0]
  const total = broadcast ? broadcast.counts[status ?? 'total'] : FIRST
  const count = Math.min(total, shown === 'all' ? RECIPIENTS_MAX : SHOWN)
  const { items, isPending, error } = useRecipients(broadcastId, { status, count: Math.max(count, 1) })
  return (
    <section className="card" aria-label="Recipients">
      <div className="card-head">
        <h2>Recipients</h2>
        {broadcast && <StatusFilter counts={broadcast.counts} current={status} />}
      </div>
      <Problem error={error} />
      {items.length === 0 ? (
        <NoCells isPending={isPending} broadcast={broadcast} status={status} />
      ) : (
        <Cells recipients={items} />
      )}
      {total > count && (
        <p className="card-body row muted">
          {count.toLocaleString('en')} of {total.toLocaleString('en')} are shown.
          {count < RECIPIENTS_MAX ? (
            <Button small onClick={() => setShown('all')}>
              Show {Math.min(total, RECIPIENTS_MAX).toLocaleString('en')}
            </Button>
          ) : (
            'Choose a status to see others.'
          )}
        </p>
      )}
    </section>
  )
}

function StatusFilter({ counts, current }: { counts: Broadcast['counts']; current: string | undefined }) {
  const toHref = useHrefWith('status')
  return (
    <nav className="status-filter" aria-label="Recipients by status">
      <Link href={toHref('')} replace aria-current={current === undefined ? 'true' : undefined}>
        All {counts.total.toLocaleString('en')}
      </Link>
      {RECIPIENT_STATUSES.filter(([status]) => counts[status] > 0 || status === current).map(([status]) => (
        <Link key={status} href={toHref(status)} replace aria-current={current === status ? 'true' : undefined}>
          <span className={`swatch is-${status}`} aria-hidden="true" />
          {status} {counts[status].toLocaleString('en')}
        </Link>
      ))}
    </nav>
  )
}

function NoCells({
  isPending,
  broadcast,
  status,
}: {
  isPending: boolean
  broadcast: Broadcast | undefined
  status: string | undefined
}) {
  if (isPending || !broadcast) return <Loading height={160} />
  if (status !== undefined) return <p className="card-body muted">Nobody is {status}.</p>
  if (broadcast.status === 'draft' || broadcast.status === 'scheduled') {
    return <Empty title="No recipients yet">They are determined from the audience when the broadcast starts.</Empty>
  }
  return <p className="card-body muted">No recipients.</p>
}
