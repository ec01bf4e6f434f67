import { setTimeout as delay } from 'node:timers/promises'
import { post, request } from './api-client.ts'
import type { Workspace } from './workspace.ts'

const TEMPLATE = { name: 'chaos_sale', language: 'en', category: 'marketing' }
const BODY = 'Hello {{name}}, the sale of {{shop}} starts today.'
const ATTEMPTS_MAX = 200
const RETRY_DELAY_MS = 300
/** Speed at which the rest is sent after the last fault. */
const DRAIN_PER_SECOND = 500

/** Time that a fault takes, from experience. */
const SECONDS_PER_KILL = 5
const SECONDS_PER_FAULT = 15
/** Share of recipients whose message may be lost in a fault. */
const UNSENT_SHARE = 0.05

/** A broadcast of a workspace, and the person of each phone number that it was sent to. */
export type ChaosBroadcast = { id: string; workspace: Workspace; people: Map<string, string> }

/** Returns the text that the provider must have accepted for a person. */
export function toExpectedBody(name: string): string {
  return BODY.replace('{{name}}', name).replace('{{shop}}', 'Chaos')
}

/** Divides the recipients between the workspaces. The speed is such that the broadcasts last as long as the faults. */
export async function createBroadcasts(
  url: string,
  workspaces: Workspace[],
  { broadcast, kills, faults }: { broadcast: number; kills: number; faults: number },
): Promise<ChaosBroadcast[]> {
  const broadcasts: ChaosBroadcast[] = []
  const perWorkspace = Math.ceil(broadcast / workspaces.length)
  const perSecond = Math.max(1, Math.floor(perWorkspace / (kills * SECONDS_PER_KILL + faults * SECONDS_PER_FAULT)))
  for (const [index, workspace] of workspaces.entries()) {
    const first = index * perWorkspace
    const count = Math.min(perWorkspace, broadcast - first)
    if (count <= 0) continue
    broadcasts.push(await createBroadcast(url, workspace, { first, count, perSecond }))
  }
  return broadcasts
}

/** Creates an approved template and a broadcast to `count` phone numbers that are no contacts yet. */
async function createBroadcast(
  url: string,
  workspace: Workspace,
  { first, count, perSecond }: { first: number; count: number; perSecond: number },
): Promise<ChaosBroadcast> {
  const { channelId, session, provider } = workspace
  const template = { ...TEMPLATE, channelId, body: BODY }
  const { id: templateId } = await post<{ id: string }>(`${url}/api/templates`, template, session)
  provider.templates.add({
    ...TEMPLATE,
    components: [{ type: 'BODY', text: BODY }],
    parameter_format: 'NAMED',
    status: 'PENDING',
  })
  const responseStatus = await provider.templates.approve(TEMPLATE.name)
  if (responseStatus !== 200) throw new Error(`The approval of the template was answered ${responseStatus}`)
  await setSpeed(url, workspace, perSecond)
  const people = new Map(
    Array.from({ length: count }, (_, index) => [`+447${700_000_000 + first + index}`, `Person ${first + index}`]),
  )
  const recipients = [...people].map(([phone, name]) => ({ phone, name }))
  const params = { name: '{{contact.name}}', shop: 'Chaos' }
  const broadcast = { name: 'Sale', templateId, params, audience: { recipients } }
  const { id } = await post<{ id: string }>(`${url}/api/broadcasts`, broadcast, session)
  return { id, workspace, people }
}

/** Starts a broadcast. The call is repeated with the same idempotency key, since a process may be killed during it. */
export async function startBroadcast(listUrls: () => string[], { id, workspace }: ChaosBroadcast): Promise<void> {
  const { session } = workspace
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
    const [url] = listUrls()
    const headers = { 'idempotency-key': `start-${id}` }
    const start =
      url === undefined
        ? undefined
        : request('POST', `${url}/api/broadcasts/${id}/send`, { session, body: {}, headers })
    const response = await start?.catch(() => undefined)
    if (response?.ok) return
    if (response && response.status < 500 && response.status !== 409)
      throw new Error(`POST /broadcasts/{broadcastId}/send returned ${response.status}: ${await response.text()}`)
    await delay(RETRY_DELAY_MS)
  }
  throw new Error('The broadcast could not be started')
}

/** The part of the report of a broadcast that the test compares. */
export type BroadcastReport = {
  counts: Record<string, number>
  countsAddUp: boolean
  acceptedTwice: unknown[]
  doubts: { total: number; open: number }
}

export function getReport(url: string, broadcast: ChaosBroadcast): Promise<BroadcastReport> {
  return read(`${url}/api/broadcasts/${broadcast.id}/report`, broadcast)
}

/** Returns the numbers of recipients that Parley keeps, by status. */
export async function getCounts(url: string, broadcast: ChaosBroadcast): Promise<Record<string, number>> {
  const { counts } = await read<{ counts: Record<string, number> }>(`${url}/api/broadcasts/${broadcast.id}`, broadcast)
  return counts
}

async function read<Body>(url: string, { workspace }: ChaosBroadcast): Promise<Body> {
  const response = await request('GET', url, { session: workspace.session })
  if (!response.ok) throw new Error(`GET ${url} returned ${response.status}: ${await response.text()}`)
  return (await response.json()) as Body
}

/** Lets the rest of a broadcast be sent without a noticeable limit. */
export async function accelerateBroadcast(url: string, { workspace }: ChaosBroadcast): Promise<void> {
  await setSpeed(url, workspace, DRAIN_PER_SECOND)
}

async function setSpeed(url: string, { channelId, session }: Workspace, broadcastsPerSecond: number): Promise<void> {
  const response = await request('PATCH', `${url}/api/channels/${channelId}`, {
    session,
    body: { broadcastsPerSecond },
  })
  if (!response.ok) throw new Error(`PATCH /channels returned ${response.status}: ${await response.text()}`)
}

/** Returns true while the provider has not yet got the messages of all recipients, apart from a few in doubt. */
export function isBroadcasting({ workspace, people }: ChaosBroadcast): boolean {
  const { byRecipient } = workspace.provider.log
  return [...people.keys()].filter((phone) => !byRecipient.has(phone)).length > people.size * UNSENT_SHARE
}
