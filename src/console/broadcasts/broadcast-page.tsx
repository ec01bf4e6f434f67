import { useParley } from '@parley/client/react'
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Copy } from '../kit/copy.tsx'
import { Page } from '../kit/page.tsx'
import { Loaded } from '../kit/states.tsx'
import { Status } from '../kit/status.tsx'
import { Tabs, useTab } from '../kit/tabs.tsx'
import { Time } from '../kit/time.tsx'
import '../styles/broadcasts.css'
import { BroadcastActions } from './broadcast-actions.tsx'
import { type Broadcast, describeCounts, describeFailure, describePause, describeSchedule } from './broadcast-words.ts'
import { Reasons } from './reasons.tsx'
import { RecipientGrid } from './recipient-grid.tsx'
import { Report } from './report.tsx'
import { Segments } from './segments.tsx'

export default function BroadcastPage({ broadcastId }: { broadcastId: string }) {
  const parley = useParley()
  const tab = useTab(['recipients', 'reasons', 'report'])
  const query = useQuery(parley.broadcasts.get.queryOptions({ broadcastId }))
  const broadcast = query.data
  const missed = broadcast ? broadcast.counts.failed + broadcast.counts.unknown + broadcast.counts.skipped : 0
  return (
    <Page
      title={broadcast?.name ?? 'Broadcast'}
      aside={broadcast && <Status status={broadcast.status} />}
      actions={broadcast && <BroadcastActions broadcast={broadcast} />}
    >
      <Loaded query={query} height={180}>
        {(found) => (
          <>
            <Interruption broadcast={found} />
            <Progress broadcast={found} />
          </>
        )}
      </Loaded>
      <Tabs
        tabs={[
          ['recipients', 'Recipients'],
          ['reasons', missed > 0 ? `Failed and skipped (${missed.toLocaleString('en')})` : 'Failed and skipped'],
          ['report', 'Report'],
        ]}
        current={tab}
        label="Of the broadcast"
      />
      {tab === 'recipients' && <RecipientGrid broadcastId={broadcastId} broadcast={broadcast} />}
      {tab === 'reasons' && broadcast && <Reasons broadcast={broadcast} />}
      {tab === 'report' && broadcast && <Report broadcast={broadcast} />}
    </Page>
  )
}

/** The reason for which a broadcast does not go on, and what to do. */
function Interruption({ broadcast: { pausedReason, failureReason } }: { broadcast: Broadcast }) {
  const found =
    pausedReason !== null ? describePause(pausedReason) : failureReason !== null ? describeFailure(failureReason) : null
  if (!found) return null
  return (
    <div className="note" role="note" aria-label={pausedReason === null ? 'Why it failed' : 'Why it is paused'}>
      <strong>{found.words}.</strong> {found.remedy}
    </div>
  )
}

/** Everything that is settled, of all recipients. */
function toPercent({ total, pending, sending }: Broadcast['counts']): number {
  return total === 0 ? 0 : Math.floor(((total - pending - sending) / total) * 100)
}

function Progress({ broadcast }: { broadcast: Broadcast }) {
  const { counts, template, description } = broadcast
  const schedule = describeSchedule(broadcast)
  return (
    <section className="card padded broadcast-progress" aria-label="Progress">
      <div className="row">
        <h2>{counts.total === 0 ? 'No recipients yet' : `${toPercent(counts)} % done`}</h2>
        <span className="spread">
          <Copy text={broadcast.id} label="broadcast ID" />
        </span>
      </div>
      {description && <p>{description}</p>}
      {counts.total > 0 && (
        <>
          <Segments counts={counts} large />
          <p>
            {describeCounts(counts)} <span className="muted">of {counts.total.toLocaleString('en')}</span>
          </p>
          <p className="muted">{describeResponses(counts)}</p>
        </>
      )}
      <dl className="broadcast-facts">
        <Fact name="Template">
          <code>{template.name}</code> {template.language}
        </Fact>
        <Fact name="Started">{broadcast.startedAt === null ? 'not yet' : <Time at={broadcast.startedAt} />}</Fact>
        {broadcast.scheduledAt !== null && broadcast.startedAt === null && (
          <Fact name="Starts">
            <Time at={broadcast.scheduledAt} />
          </Fact>
        )}
        <Fact name="Finished">{broadcast.finishedAt === null ? 'not yet' : <Time at={broadcast.finishedAt} />}</Fact>
        {schedule !== null && <Fact name="Schedule">{schedule}</Fact>}
        {broadcast.frequencyCap && (
          <Fact name="Frequency cap">
            {broadcast.frequencyCap.max} broadcasts in {broadcast.frequencyCap.hours} h
          </Fact>
        )}
        <Fact name="Opt-in">{broadcast.requiresOptIn ? 'required' : 'not required'}</Fact>
      </dl>
    </section>
  )
}

function describeResponses({ accepted, replied, optedOut }: Broadcast['counts']): string {
  return `The provider accepted ${accepted.toLocaleString('en')}. Within 72 hours, ${replied.toLocaleString('en')} replied and ${optedOut.toLocaleString('en')} opted out.`
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}
