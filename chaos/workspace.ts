import { type AcceptedSend, FakeCloudApi } from '../fake-whatsapp/fake-cloud-api.ts'
import type { Customer } from './customer-factory.ts'
import type { Random } from './random.ts'
import { CHILD_DEFINITION } from './scenario-parts.ts'
import { SCENARIOS } from './scenarios.ts'

export type ProviderBehavior = {
  /** Sends status webhooks; without them, a message whose response was lost keeps an unknown delivery. */
  sendsStatuses: boolean
  /** Sends the first status before it responds to the send request. */
  sendsStatusBeforeResponse: boolean
}

/** Behavior of the provider of each workspace, in rotation. */
const PROVIDER_BEHAVIORS: ProviderBehavior[] = [
  { sendsStatuses: true, sendsStatusBeforeResponse: false },
  { sendsStatuses: true, sendsStatusBeforeResponse: true },
  { sendsStatuses: false, sendsStatusBeforeResponse: false },
]

/** A workspace with its own provider, the workflows of all scenarios, and the customers that write to it. */
export type Workspace = {
  tenantId: string
  channelId: string
  provider: FakeCloudApi
  providerBehavior: ProviderBehavior
  customers: Customer[]
}

type Session = { cookie: string; tenantId: string }

export async function createWorkspace(
  url: string,
  { number, orderServerUrl }: { number: number; orderServerUrl: string },
): Promise<Workspace> {
  const providerBehavior = PROVIDER_BEHAVIORS[number % PROVIDER_BEHAVIORS.length] as ProviderBehavior
  const session = await signUp(url, number)
  const provider = await startProvider(providerBehavior)
  const channel = { kind: 'whatsapp', name: 'Chaos', ...provider.settings, ...provider.credentials }
  const { id: channelId } = await post<{ id: string }>(`${url}/api/channels`, channel, session)
  const publish = async (name: string, definition: object) => {
    const { id } = await post<{ id: string }>(`${url}/api/workflows`, { name, definition }, session)
    await post(`${url}/api/workflows/${id}/publish`, {}, session)
    return id
  }
  const context = { orderServerUrl, childWorkflowId: await publish('child', CHILD_DEFINITION) }
  for (const { name, definition } of SCENARIOS)
    await publish(name, typeof definition === 'function' ? definition(context) : definition)
  return { tenantId: session.tenantId, channelId, provider, providerBehavior, customers: [] }
}

export function toInboundUrl(url: string, channelId: string): string {
  return `${url}/inbound/whatsapp/${channelId}`
}

/**
 * Makes the provider drop its next response or reject the next request with a rate limit error, at random; returns the
 * number of errors.
 */
export function simulateProviderErrors({ provider }: Workspace, random: Random): number {
  const [dropsResponse, limitsRate] = [random.chance(0.15), random.chance(0.15)]
  if (dropsResponse) provider.dropNextResponse('reset')
  if (limitsRate) provider.rejectNext(131056)
  return Number(dropsResponse) + Number(limitsRate)
}

type SendIndex = { processed: number; byRecipient: Map<string, AcceptedSend[]> }

const sendIndexes = new WeakMap<FakeCloudApi, SendIndex>()

/** Lists the sends that the provider accepted for a customer, in order of acceptance. */
export function listAcceptedSends({ provider }: Workspace, { phone }: Customer): AcceptedSend[] {
  const index = sendIndexes.get(provider) ?? { processed: 0, byRecipient: new Map<string, AcceptedSend[]>() }
  sendIndexes.set(provider, index)
  for (const send of provider.accepted.slice(index.processed)) {
    index.byRecipient.set(send.recipient, [...(index.byRecipient.get(send.recipient) ?? []), send])
    index.processed += 1
  }
  return index.byRecipient.get(`+${phone}`) ?? []
}

async function startProvider({ sendsStatusBeforeResponse }: ProviderBehavior): Promise<FakeCloudApi> {
  const provider = await FakeCloudApi.start()
  provider.latencyMs = 5
  provider.reportsStatusesFirst = sendsStatusBeforeResponse
  if (sendsStatusBeforeResponse) provider.statuses = ['sent']
  return provider
}

async function signUp(url: string, number: number): Promise<Session> {
  const response = await request(`${url}/api/auth/sign-up/email`, {
    name: 'Chaos',
    email: `chaos-${number}@parley.example`,
    password: 'correct horse battery',
  })
  const { workspaces } = (await response.json()) as { workspaces: { id: string }[] }
  const cookie = response.headers.getSetCookie()[0]?.split(';')[0] ?? ''
  return { cookie, tenantId: workspaces[0]?.id ?? '' }
}

async function post<T>(url: string, body: unknown, session: Session): Promise<T> {
  const response = await request(url, body, { cookie: session.cookie, 'x-tenant-id': session.tenantId })
  return (await response.json()) as T
}

async function request(url: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  if (!response.ok) throw new Error(`POST ${url} returned ${response.status}: ${await response.text()}`)
  return response
}
