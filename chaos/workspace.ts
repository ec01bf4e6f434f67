import { post, type Session, signUp } from './api-client.ts'
import { type AcceptedSend, FakeCloudApi } from '../fake-whatsapp/fake-cloud-api.ts'
import type { Customer } from './customer-factory.ts'
import type { Random } from './random.ts'
import { CHILD_DEFINITION } from './scenario-parts.ts'
import { SCENARIOS } from './scenarios.ts'

/** Moment at which a provider sends status webhooks, and whether they name our message ID. */
export type ProviderBehavior =
  /** A moment after the response, with our message ID. */
  | 'statuses_after_response'
  /** The first one before the response, with our message ID. */
  | 'status_before_response'
  /** All at the moment of the response, without our message ID: only the provider's ID of the response names the message. */
  | 'statuses_cross_response'
  | 'no_statuses'

/** Behavior of the provider of each workspace, in rotation. */
const PROVIDER_BEHAVIORS: ProviderBehavior[] = ['statuses_after_response', 'status_before_response', 'no_statuses']

/** A workspace with its own provider, the workflows of all scenarios, and the customers that write to it. */
export type Workspace = {
  tenantId: string
  session: Session
  channelId: string
  provider: FakeCloudApi
  providerBehavior: ProviderBehavior
  customers: Customer[]
}

/** Returns true if the provider sends the statuses of every message that it accepts. */
export function sendsStatuses({ providerBehavior }: Workspace): boolean {
  return providerBehavior !== 'no_statuses'
}

/** Returns true if a status settles a message whose response was lost; otherwise its delivery stays unknown. */
export function settlesDoubts({ providerBehavior }: Workspace): boolean {
  return providerBehavior === 'statuses_after_response' || providerBehavior === 'status_before_response'
}

/** Creates workspaces with the usual providers, and one whose provider sends statuses that cross its responses. */
export function createWorkspaces(url: string, count: number, orderServerUrl: string): Promise<Workspace[]> {
  const usual = Array.from(
    { length: count },
    (_, number) => PROVIDER_BEHAVIORS[number % PROVIDER_BEHAVIORS.length] as ProviderBehavior,
  )
  const behaviors: ProviderBehavior[] = [...usual, 'statuses_cross_response']
  return Promise.all(
    behaviors.map((providerBehavior, number) => createWorkspace(url, { number, providerBehavior, orderServerUrl })),
  )
}

type NewWorkspace = {
  /** Every workspace has another one. */
  number: number
  providerBehavior: ProviderBehavior
  orderServerUrl: string
}

export async function createWorkspace(
  url: string,
  { number, providerBehavior, orderServerUrl }: NewWorkspace,
): Promise<Workspace> {
  const session = await signUp(url, number)
  const channel = await createChannel(url, session, providerBehavior)
  const publish = async (name: string, definition: object) => {
    const { id } = await post<{ id: string }>(`${url}/api/workflows`, { name, definition }, session)
    await post(`${url}/api/workflows/${id}/publish`, {}, session)
    return id
  }
  const context = { orderServerUrl, childWorkflowId: await publish('child', CHILD_DEFINITION) }
  for (const { name, definition } of SCENARIOS)
    await publish(name, typeof definition === 'function' ? definition(context) : definition)
  return { tenantId: session.tenantId, session, ...channel, providerBehavior, customers: [] }
}

/** Creates a channel with a provider of its own, whose webhooks go to this process. */
export async function createChannel(
  url: string,
  session: Session,
  providerBehavior: ProviderBehavior,
): Promise<{ channelId: string; provider: FakeCloudApi }> {
  const provider = await startProvider(providerBehavior)
  const channel = { type: 'whatsapp', name: 'Chaos', ...provider.settings, ...provider.credentials }
  const { id: channelId } = await post<{ id: string }>(`${url}/api/channels`, channel, session)
  provider.webhooks.callbackUrl = toInboundUrl(url, channelId)
  return { channelId, provider }
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

async function startProvider(behavior: ProviderBehavior): Promise<FakeCloudApi> {
  const provider = await FakeCloudApi.start()
  provider.latencyMs = 5
  provider.reportsStatusesFirst = behavior === 'status_before_response'
  if (provider.reportsStatusesFirst) provider.statuses = ['sent']
  return provider
}
