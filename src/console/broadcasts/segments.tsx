import { type Broadcast, describeCounts, RECIPIENT_STATUSES } from './broadcast-words.ts'

/** The recipients by status as a bar. Its parts are named by the label. */
export function Segments({ counts, large = false }: { counts: Broadcast['counts']; large?: boolean }) {
  return (
    <div
      className={large ? 'segments large' : 'segments'}
      role="img"
      aria-label={`${describeCounts(counts)}, of ${counts.total}`}
      title={describeCounts(counts)}
    >
      {RECIPIENT_STATUSES.filter(([status]) => counts[status] > 0).map(([status]) => (
        <span key={status} className={`is-${status}`} style={{ flexGrow: counts[status] }} />
      ))}
    </div>
  )
}
