import { parseArgs } from 'node:util'
import { z } from 'zod'
import { Settings } from './control.ts'

type Option = { value: string; description: string; default?: string }

const OPTIONS: Record<string, Option> = {
  port: { value: 'number', description: 'port to listen on, on this machine only', default: '4010' },
  webhook: { value: 'url', description: 'address that receives webhooks; can be set later by POST /fake/settings' },
  'phone-number-id': { value: 'digits', description: 'ID of the business number', default: '100000000000001' },
  'waba-id': { value: 'digits', description: 'ID of the business account', default: '200000000000001' },
  'access-token': { value: 'text', description: 'token that calls must carry', default: 'fake-access-token' },
  'app-secret': { value: 'text', description: 'key of webhook signatures', default: 'fake-app-secret' },
  'verify-token': { value: 'text', description: 'token of the webhook handshake', default: 'fake-verify-token' },
  latency: { value: 'ms', description: 'wait before each response', default: '0' },
  statuses: { value: 'list', description: 'statuses of each message', default: 'sent,delivered,read' },
  'status-delay': { value: 'ms', description: 'wait before each status', default: '200' },
  duplicates: { value: 'share', description: 'share of webhooks that are delivered twice', default: '0' },
  reordering: { value: 'share', description: 'share of messages whose statuses arrive in any order', default: '0' },
  'per-second': { value: 'number', description: 'sends per second before error 130429 (default: no limit)' },
  'pair-seconds': { value: 'seconds', description: 'between sends to one person, error 131056 (default: no limit)' },
  'approve-after': { value: 'seconds', description: 'until templates are approved, or "never"', default: '2' },
}

const COLUMN = 40

export const USAGE = [
  'Usage: npm run fake-whatsapp -- [options]',
  'A local WhatsApp Cloud API of one business number. It prints the calls it receives and the webhooks it sends.',
  ...Object.entries(OPTIONS).map(([name, option]) => {
    const suffix = option.default === undefined ? '' : ` (default: ${option.default})`
    return toLine(`--${name} <${option.value}>`, `${option.description}${suffix}`)
  }),
  toLine('--help', 'print this help'),
  'Calls that control it while it runs (docs/whatsapp.md has examples):',
  toLine('POST /fake/messages', '{from, body} or {from, file} or {from, message}: write as a customer'),
  toLine('GET /fake/messages', '?recipient=+…: accepted messages'),
  toLine('POST /fake/messages/<id>/status', '{status, code}: report a status'),
  toLine('POST /fake/preferences', '{from, value: stop or resume}: marketing preference of a person'),
  toLine('POST /fake/templates/<name>/<action>', 'approve, reject, pause, disable, reinstate, quality, category'),
  toLine('POST /fake/failures', '{kind, code, count, recipient}: fail the next sends, or those to a recipient'),
  toLine('DELETE /fake/failures', 'remove planned failures'),
  toLine('POST /fake/settings', '{webhook, latencyMs, duplicates, reordering, perSecond, pairSeconds, …}'),
].join('\n')

const Values = z.object({
  port: z.coerce.number().int().min(0).max(65_535),
  'phone-number-id': z.string().regex(/^\d+$/, 'must be digits'),
  'waba-id': z.string().regex(/^\d+$/, 'must be digits'),
  'access-token': z.string().min(1),
  'app-secret': z.string().min(1),
  'verify-token': z.string().min(1),
  webhook: z.url().optional(),
  latency: z.coerce.number(),
  statuses: z.string(),
  'status-delay': z.coerce.number(),
  duplicates: z.coerce.number(),
  reordering: z.coerce.number(),
  'per-second': z.coerce.number().optional(),
  'pair-seconds': z.coerce.number().optional(),
  'approve-after': z.union([z.literal('never'), z.coerce.number()]),
})

export type FakeOptions = {
  port: number
  phoneNumberId: string
  wabaId: string
  credentials: { accessToken: string; appSecret: string; verifyToken: string }
  settings: Settings
}

/**
 * Parses the command line; returns undefined if help was requested.
 * @throws Error that names the invalid argument
 */
export function parseOptions(args: string[]): FakeOptions | undefined {
  const texts = Object.fromEntries(Object.keys(OPTIONS).map((name) => [name, { type: 'string' as const }]))
  const parsed = parseArgs({ args, options: { ...texts, help: { type: 'boolean', short: 'h' } } }).values
  if (parsed['help']) return undefined
  const defaults = Object.fromEntries(Object.entries(OPTIONS).map(([name, option]) => [name, option.default]))
  const values = parseWith(Values, { ...defaults, ...parsed })
  const approveAfter = values['approve-after']
  return {
    port: values.port,
    phoneNumberId: values['phone-number-id'],
    wabaId: values['waba-id'],
    credentials: {
      accessToken: values['access-token'],
      appSecret: values['app-secret'],
      verifyToken: values['verify-token'],
    },
    settings: parseWith(Settings, {
      ...(values.webhook === undefined ? {} : { webhook: values.webhook }),
      latencyMs: values.latency,
      statuses: values.statuses.split(',').filter(Boolean),
      statusDelayMs: values['status-delay'],
      duplicates: values.duplicates,
      reordering: values.reordering,
      perSecond: values['per-second'] ?? null,
      pairSeconds: values['pair-seconds'] ?? null,
      approveAfterMs: approveAfter === 'never' ? null : approveAfter * 1000,
    }),
  }
}

function parseWith<Schema extends z.ZodType>(schema: Schema, input: unknown): z.output<Schema> {
  const result = schema.safeParse(input)
  if (!result.success) throw new Error(z.prettifyError(result.error))
  return result.data
}

function toLine(name: string, description: string): string {
  return `  ${name.padEnd(COLUMN)} ${description}`
}
