import { post, type Session, signUp } from './api-client.ts'
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
  session: Session
  channelId: string
  provider: FakeCloudApi
  providerBehavior: ProviderBehavior
  customers: Customer[]
}

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
  return { tenantId: session.tenantId, session, channelId, provider, providerBehavior, customers: [] }
}

export function toInboundUrl(url: string, channelId: string): string {
  return `${url}/inbound/whatsapp/${channelId}`
}

/**
 * Makes the provider drop its next response, by a reset or by a timeout, or reject the next request with a rate limit error, at random; returns the
 * number of errors.
 */
export function simulateProviderErrors({ provider }: Workspace, random: Random): number {
  const [dropsResponse, limitsRate] = [random.chance(0.15), random.chance(0.15)]
  if (dropsResponse) provider.dropNextResponse(random.pick(['reset', 'hang']))
  if (limitsRate) provider.rejectNext(131056)
  return Number(dropsResponse) + Number(limitsRate)
}

/** Makes the provider accept its next message without ever responding; returns the number of errors. */
export function simulateTimeout({ provider }: Workspace): number {
  provider.dropNextResponse('hang')
  return 1
}

/** Lists the sends that the provider accepted for a customer, in order of acceptance. */
export function listAcceptedSends({ provider }: Workspace, { phone }: Customer): AcceptedSend[] {
  return provider.log.listFor(`+${phone}`)
}

async function startProvider({ sendsStatusBeforeResponse }: ProviderBehavior): Promise<FakeCloudApi> {
  const provider = await FakeCloudApi.start()
  provider.latencyMs = 5
  provider.reportsStatusesFirst = sendsStatusBeforeResponse
  if (sendsStatusBeforeResponse) provider.statuses = ['sent']
  return provider
}
