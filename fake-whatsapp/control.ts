import { z } from 'zod'
import type { FakeCloudApi } from './fake-cloud-api.ts'
import { type Call, invalid, parseObject, type Reply } from './http.ts'

const share = z.number().min(0).max(1)

/** Settings that can change while the fake runs. `null` removes a limit. */
export const Settings = z.strictObject({
  webhook: z.url().optional(),
  latencyMs: z.int().min(0).max(120_000).optional(),
  duplicates: share.optional(),
  reordering: share.optional(),
  statuses: z.array(z.enum(['sent', 'delivered', 'read', 'played'])).optional(),
  statusDelayMs: z.int().min(0).max(120_000).optional(),
  perSecond: z.int().min(1).nullable().optional(),
  pairSeconds: z.number().positive().nullable().optional(),
  approveAfterMs: z.int().min(0).max(3_600_000).nullable().optional(),
})
export type Settings = z.output<typeof Settings>

const phone = z.string().regex(/^\+[1-9]\d{6,14}$/, 'must be a number with a plus')
const code = z.int().min(0).max(9_999_999)

const CustomerMessage = z.strictObject({
  from: phone,
  name: z.string().optional(),
  body: z.string().optional(),
  /** A message of any type, as in a webhook: `{"type":"location","location":{…}}`. */
  message: z.looseObject({ type: z.string() }).optional(),
  /** A file that the customer sends, with its content in base64. */
  file: z
    .strictObject({
      type: z.enum(['image', 'video', 'audio', 'document', 'sticker']),
      mimeType: z.string(),
      base64: z.base64(),
      caption: z.string().optional(),
      filename: z.string().optional(),
    })
    .optional(),
  replyTo: z.string().optional(),
})
const Preference = z.strictObject({ from: phone, value: z.enum(['stop', 'resume']) })
const Failure = z.strictObject({
  /** Failure of every send to this recipient; without it, of the next `count` sends. */
  recipient: phone.optional(),
  kind: z.enum(['reject', 'contradict', 'undelivered', 'hang', 'reset']).default('reject'),
  code: code.default(131000),
  count: z.int().min(1).max(100_000).default(1),
})
const Status = z.strictObject({
  status: z.enum(['sent', 'delivered', 'read', 'played', 'failed']),
  code: code.optional(),
})
const Decision = z.strictObject({ reason: z.string().optional(), value: z.string().optional() })

/** Applies settings; those that are absent stay as they are. */
export function applySettings(api: FakeCloudApi, settings: Settings): void {
  const { webhook, latencyMs, duplicates, reordering, statuses, statusDelayMs } = settings
  if (webhook !== undefined) api.webhooks.callbackUrl = webhook
  if (latencyMs !== undefined) api.latencyMs = latencyMs
  if (duplicates !== undefined) api.webhooks.duplicatedShare = duplicates
  if (reordering !== undefined) api.statusReports.reorderedShare = reordering
  if (statuses !== undefined) api.statuses = statuses
  if (statusDelayMs !== undefined) api.statusReports.delayMs = statusDelayMs
  if (settings.perSecond !== undefined) api.throttle.perSecond = settings.perSecond ?? undefined
  if (settings.pairSeconds !== undefined) api.throttle.pairSeconds = settings.pairSeconds ?? undefined
  if (settings.approveAfterMs !== undefined) api.templates.decidesAfterMs = settings.approveAfterMs ?? undefined
}

/** Answers a call below `/fake/`; undefined if the path is unknown. */
export async function answerControlCall(api: FakeCloudApi, call: Call): Promise<Reply | undefined> {
  const { method, path } = call
  const [name, id, action] = path
  if (method === 'GET' && name === 'messages') return { body: listMessages(api, call) }
  if (method === 'GET' && name === 'templates') return { body: { items: [...api.templates.all.values()] } }
  if (method === 'DELETE' && name === 'failures') {
    api.clearFaults()
    return { body: {} }
  }
  if (method !== 'POST') return undefined
  if (name === 'settings') return answer(Settings, call, (settings) => applySettings(api, settings))
  if (name === 'messages' && id && action === 'status')
    return answer(Status, call, async ({ status, code: errorCode }) => {
      const { callbackData = null } = api.accepted.find(({ wamid }) => wamid === id) ?? {}
      const error = errorCode === undefined ? {} : { errorCode }
      return { webhook: await api.webhooks.sendStatuses([{ wamid: id, status, callbackData, ...error }]) }
    })
  if (name === 'messages') return answer(CustomerMessage, call, (message) => sendAsCustomer(api, message))
  if (name === 'preferences')
    return answer(Preference, call, async ({ from, value }) => ({
      webhook: await api.webhooks.sendPreference({ from: from.slice(1), value }),
    }))
  if (name === 'failures') return answer(Failure, call, (failure) => planFailure(api, failure))
  if (name === 'templates' && id && action)
    return answer(Decision, call, async (decision) => ({ webhook: await decide(api, id, action, decision) }))
  return undefined
}

async function answer<Schema extends z.ZodType>(
  schema: Schema,
  { bytes }: Call,
  apply: (input: z.output<Schema>) => object | void | Promise<object | void>,
): Promise<Reply> {
  const input = schema.safeParse(bytes.length === 0 ? {} : parseObject(bytes))
  if (!input.success) return { error: invalid(z.prettifyError(input.error)) }
  try {
    return { body: (await apply(input.data)) ?? {} }
  } catch (error) {
    return { error: invalid(error instanceof Error ? error.message : String(error)) }
  }
}

/** Lists accepted messages, of one recipient if the query names it, without the whole payload. */
function listMessages(api: FakeCloudApi, { query }: Call): object {
  const recipient = query.get('recipient')
  const sends = recipient === null ? api.accepted : api.log.listFor(recipient)
  const items = sends.map(({ wamid, recipient: to, body, callbackData, payload }) => ({
    to,
    type: payload['type'],
    body,
    wamid,
    callbackData,
  }))
  return { items, total: items.length }
}

async function sendAsCustomer(api: FakeCloudApi, input: z.output<typeof CustomerMessage>): Promise<object> {
  const { from, name, body, message, file, replyTo } = input
  if ([body, message, file].filter((part) => part !== undefined).length !== 1)
    throw new Error('A message needs either body, message or file')
  const sender = { from: from.slice(1), ...(name ? { name } : {}), ...(replyTo ? { replyTo } : {}) }
  const content = file ? toFileMessage(api, file) : (message ?? { type: 'text', text: { body } })
  const { wamid, status } = await api.webhooks.sendMessage({ ...sender, message: content })
  return { wamid, webhook: status }
}

function toFileMessage(
  api: FakeCloudApi,
  { type, mimeType, base64, caption, filename }: NonNullable<z.output<typeof CustomerMessage>['file']>,
): object {
  const file = api.media.add(Buffer.from(base64, 'base64'), mimeType, filename ?? null)
  return { type, [type]: { ...file, ...(caption ? { caption } : {}), ...(filename ? { filename } : {}) } }
}

function planFailure(api: FakeCloudApi, { recipient, kind, code: errorCode, count }: z.output<typeof Failure>): void {
  if (recipient !== undefined) {
    if (kind === 'reject') return api.rejectRecipient(recipient, errorCode)
    if (kind === 'undelivered') return api.failDeliveryTo(recipient, errorCode)
    throw new Error('A recipient can be failed by reject or undelivered')
  }
  if (kind === 'reject') return api.rejectNext(errorCode, { count })
  if (kind === 'contradict') return api.contradictNext(errorCode, { count })
  if (kind === 'undelivered') return api.failNextDelivery(errorCode, { count })
  return api.dropNextResponse(kind, { count })
}

function decide(
  { templates }: FakeCloudApi,
  name: string,
  action: string,
  { reason, value = '' }: z.output<typeof Decision>,
): Promise<number> {
  if (action === 'approve') return templates.approve(name)
  if (action === 'reject') return templates.reject(name, reason)
  if (action === 'pause') return templates.pause(name)
  if (action === 'disable') return templates.disable(name)
  if (action === 'reinstate') return templates.reinstate(name)
  if (action === 'quality') return templates.changeQuality(name, value)
  if (action === 'category') return templates.changeCategory(name, value)
  throw new Error('A template can be changed by approve, reject, pause, disable, reinstate, quality or category')
}
