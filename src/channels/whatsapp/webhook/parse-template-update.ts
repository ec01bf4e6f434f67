import { z } from 'zod'
import type { TemplateUpdate } from '../../channel.ts'
import { text } from '../provider-json.ts'

const Id = z.union([z.string().min(1).max(64), z.int().transform(String)])
const Template = z.looseObject({
  message_template_id: Id.optional().catch(undefined),
  message_template_name: text,
  message_template_language: text,
})

const lowerCase = z.string().max(100).toLowerCase()
const Status = z.looseObject({
  event: lowerCase,
  reason: text,
  rejection_info: z.looseObject({ reason: text, recommendation: text }).optional().catch(undefined),
  disable_info: z.looseObject({ disable_date: text }).optional().catch(undefined),
  other_info: z.looseObject({ title: text, description: text }).optional().catch(undefined),
})
const Quality = z.looseObject({ new_quality_score: lowerCase.pipe(z.enum(['green', 'yellow', 'red', 'unknown'])) })
const category = lowerCase.pipe(z.enum(['marketing', 'utility', 'authentication']))
const Category = z.union([
  z.looseObject({ new_category: category, correct_category: category }).transform(({ correct_category }) => ({
    category: correct_category,
    isPending: true,
  })),
  z.looseObject({ new_category: category }).transform(({ new_category }) => ({
    category: new_category,
    isPending: false,
  })),
])

type Change = TemplateUpdate['change']
type Status = Extract<Change, { kind: 'status' }>['status']

/** Statuses by event. Other events, such as `flagged`, leave the status as it is. */
const STATUSES: Record<string, Status> = {
  pending: 'pending',
  approved: 'approved',
  reinstated: 'approved',
  unarchived: 'approved',
  rejected: 'rejected',
  paused: 'paused',
  disabled: 'disabled',
  in_appeal: 'in_appeal',
  archived: 'archived',
  pending_deletion: 'deleted',
  deleted: 'deleted',
}

/** Parses a change of a template; undefined if it is malformed or names no template. */
export function parseTemplateUpdate(kind: Change['kind'], input: unknown, at: Date | null): TemplateUpdate | undefined {
  const template = Template.safeParse(input).data
  const change = parseChange(kind, input)
  if (!template || !change) return undefined
  const { message_template_id: id, message_template_name: name, message_template_language: language } = template
  if (id === undefined && (name === undefined || language === undefined)) return undefined
  return { providerTemplateId: id ?? null, name: name ?? null, language: language ?? null, at, change }
}

function parseChange(kind: Change['kind'], input: unknown): Change | undefined {
  if (kind === 'components') return { kind }
  if (kind === 'status') {
    const status = Status.safeParse(input).data
    if (!status) return undefined
    const { event } = status
    const mapped = Object.hasOwn(STATUSES, event) ? (STATUSES[event] ?? null) : null
    return { kind, event, status: mapped, reason: toReason(status) }
  }
  if (kind === 'quality') {
    const quality = Quality.safeParse(input).data?.new_quality_score
    return quality && { kind, quality }
  }
  const parsed = Category.safeParse(input).data
  return parsed && { kind, ...parsed }
}

function toReason({ reason, rejection_info, disable_info, other_info }: z.output<typeof Status>): string | null {
  const texts = [rejection_info?.reason, rejection_info?.recommendation, other_info?.title, other_info?.description]
  const explained = texts.filter((part) => part).join(' ')
  if (explained !== '') return explained
  if (disable_info?.disable_date) return `Disabled on ${disable_info.disable_date}`
  return reason && reason !== 'NONE' ? reason : null
}
