import { sum } from '../bench/stats.ts'
import { withClient } from '../src/platform/embedded-postgres/connection.ts'
import { type ChaosBroadcast, getCounts, getReport } from './broadcast.ts'
import { checkBroadcasts } from './broadcast-invariants.ts'
import {
  checkConversations,
  checkDelivery,
  checkOrders,
  checkStatuses,
  countUnknownDeliveries,
} from './conversation-invariants.ts'
import type { ChaosDatabase } from './database.ts'
import { checkDatabase } from './database-invariants.ts'
import { DatabaseSnapshot } from './database-snapshot.ts'
import { checkEvents, countEvents, readOutcome } from './event-invariants.ts'
import type { EventReceiver } from './event-receiver.ts'
import type { FakeShopServer } from './fake-shop-server.ts'
import { checkFailpoints, checkProcesses, checkRecovery } from './fault-invariants.ts'
import type { FaultFreePhase } from './fault-free-phase.ts'
import type { InjectedFault } from './faults/inject.ts'
import type { HangingChannels } from './hanging-channels.ts'
import { checkFaultFree, checkHangingSends } from './hanging-invariants.ts'
import type { ProcessPool } from './process-pool.ts'
import type { ChaosReport } from './report.ts'
import type { ChaosOptions } from './run-chaos.ts'
import type { WebhookSender } from './webhook-sender.ts'
import type { Workspace } from './workspace.ts'

/** State of the test after its last phase. */
type Finished = {
  options: ChaosOptions
  database: ChaosDatabase
  pool: ProcessPool
  shop: FakeShopServer
  receiver: EventReceiver
  sender: WebhookSender
  workspaces: Workspace[]
  hanging: HangingChannels
  faultFree: FaultFreePhase
  broadcasts: ChaosBroadcast[]
  faultsBeforeEnd: number
  faults: InjectedFault[]
  simulatedErrors: number
  startsBeforeDrain: number
  seconds: ChaosReport['seconds']
  remainingWork: string[]
}

/** Compares the database with the records of providers, shop and customers. */
export async function verify(finished: Finished): Promise<ChaosReport> {
  const { database, pool, shop, receiver, sender, workspaces, hanging, faultFree, faults } = finished
  const { onProgress: _onProgress, timeoutMs: _timeoutMs, citusUrl: _citusUrl, ...options } = finished.options
  const url = pool.urls[0] ?? ''
  const broadcasts = await Promise.all(
    finished.broadcasts.map(async (sent) => ({
      ...sent,
      counts: await getCounts(url, sent),
      report: await getReport(url, sent),
    })),
  )
  const calls = receiver.readCalls()
  const { snapshot, databaseResults, broadcast, outcome } = await withClient(database.url, async (client) => ({
    broadcast: await checkBroadcasts(client, broadcasts),
    snapshot: await DatabaseSnapshot.read(client),
    databaseResults: await checkDatabase(client),
    outcome: await readOutcome(client, calls),
  }))
  const all = [...workspaces, ...hanging.workspaces]
  const hangingSends = checkHangingSends(hanging, snapshot)
  return {
    options,
    conversations: sum(all.map(({ customers }) => customers.length)),
    seconds: finished.seconds,
    faults,
    starts: pool.starts,
    failedStarts: pool.failedStarts,
    startTimes: pool.startTimes,
    webhooks: {
      delivered: sender.delivered,
      requests: sender.requests,
      duplicates: sender.duplicates,
      failedRequests: [...sender.failedRequests],
    },
    provider: {
      accepted: sum(workspaces.map(({ provider }) => provider.accepted.length)),
      simulatedErrors: finished.simulatedErrors,
    },
    shop: { requests: sum([...shop.requests.values()]), orders: shop.orders.size },
    events: { ...countEvents(outcome), faults: [...receiver.faults] },
    unknownDeliveries: countUnknownDeliveries(workspaces, snapshot),
    faultFree,
    hanging: { requests: hanging.requests, ...hangingSends.counts },
    broadcast: { ...broadcast.counts, faultsBeforeEnd: finished.faultsBeforeEnd },
    invariants: [
      ...(options.broadcast > 0 ? broadcast.results : []),
      ...checkConversations(all, snapshot),
      checkDelivery(all, snapshot),
      hangingSends.result,
      checkStatuses(workspaces, snapshot),
      checkOrders(all, snapshot, shop),
      ...checkEvents(outcome),
      ...databaseResults,
      { name: 'all work is processed within the time limit', checked: 1, violations: finished.remainingWork },
      ...checkProcesses(pool, finished.startsBeforeDrain),
      ...checkFaultFree(faultFree),
      checkRecovery(faults),
      checkFailpoints(faults),
    ],
  }
}
