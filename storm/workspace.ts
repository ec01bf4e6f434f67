import { type AcceptedSend, FakeCloudApi } from '../test/support/fake-cloud-api.ts'
import { DIALOGUES } from './dialogues.ts'
import { INNER } from './longer-dialogues.ts'
import type { Customer } from './population.ts'

/** What a provider of a workspace does besides taking messages. */
export type ProviderHabit = {
  /** It calls back with what became of a message; else a lost answer stays in doubt. */
  tells: boolean
  /** It calls back before it has answered the call itself. */
  isAhead: boolean
}

/** A workspace with a number of its own, the workflows of all dialogues, and the customers that write to it. */
export type Workspace = {
  tenantId: string
  channelId: string
  cloud: FakeCloudApi
  habit: ProviderHabit
  customers: Customer[]
}

type Session = { cookie: string; tenantId: string }

export async function openWorkspace(
  url: string,
  given: { number: number; habit: ProviderHabit; shopUrl: string },
): Promise<Workspace> {
  const { number, habit, shopUrl } = given
  const session = await signUp(url, number)
  const cloud = await FakeCloudApi.start()
  cloud.latencyMs = 5
  cloud.isAhead = habit.isAhead
  if (habit.isAhead) cloud.statuses = ['sent']
  const channel = { kind: 'whatsapp', name: 'Storm', ...cloud.settings, ...cloud.credentials }
  const { id: channelId } = await post<{ id: string }>(`${url}/api/channels`, channel, session)
  const publish = async (name: string, definition: object) => {
    const { id } = await post<{ id: string }>(`${url}/api/workflows`, { name, definition }, session)
    await post(`${url}/api/workflows/${id}/publish`, {}, session)
    return id
  }
  const surroundings = { shopUrl, innerId: await publish('inner', INNER) }
  for (const { name, definition } of DIALOGUES)
    await publish(name, typeof definition === 'function' ? definition(surroundings) : definition)
  return { tenantId: session.tenantId, channelId, cloud, habit, customers: [] }
}

export function inboundUrl(url: string, channelId: string): string {
  return `${url}/inbound/whatsapp/${channelId}`
}

const taken = new WeakMap<FakeCloudApi, { seen: number; byRecipient: Map<string, AcceptedSend[]> }>()

/** What the provider took for a customer, in its order. */
export function takenFor({ cloud }: Workspace, { phone }: Customer): AcceptedSend[] {
  const index = taken.get(cloud) ?? { seen: 0, byRecipient: new Map<string, AcceptedSend[]>() }
  taken.set(cloud, index)
  for (const send of cloud.accepted.slice(index.seen)) {
    index.byRecipient.set(send.recipient, [...(index.byRecipient.get(send.recipient) ?? []), send])
    index.seen += 1
  }
  return index.byRecipient.get(`+${phone}`) ?? []
}

async function signUp(url: string, number: number): Promise<Session> {
  const response = await call(`${url}/api/auth/sign-up/email`, {
    name: 'Storm',
    email: `storm-${number}@parley.example`,
    password: 'correct horse battery',
  })
  const { workspaces } = (await response.json()) as { workspaces: { id: string }[] }
  const cookie = response.headers.getSetCookie()[0]?.split(';')[0] ?? ''
  return { cookie, tenantId: workspaces[0]?.id ?? '' }
}

async function post<T>(url: string, body: unknown, session: Session): Promise<T> {
  const response = await call(url, body, { cookie: session.cookie, 'x-tenant-id': session.tenantId })
  return (await response.json()) as T
}

async function call(url: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${await response.text()}`)
  return response
}
