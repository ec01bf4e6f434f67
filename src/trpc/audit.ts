import { z } from 'zod'
import { getField } from '../platform/fields.ts'
import { isUuid } from '../platform/ids.ts'
import { addMs, DAY, MINUTE } from '../platform/time.ts'
import { AuditEntry, type AuditedField } from '../scope/audit-entry.ts'
import type { Scope } from '../scope/scope.ts'
import { callerId } from './caller.ts'
import type { RequestContext } from './context.ts'
import type { ProcedureMeta } from './rest.ts'

/** Refused attempts of one member or API key that are recorded in a day. */
export const REFUSALS_PER_DAY_MAX = 100
/** Depth of the objects of an input whose fields are named. */
const DEPTH_MAX = 3
/** Longest list of IDs or enums whose values are stored. */
const VALUES_MAX = 100

type Procedures = { _def: { procedures: object } }
type Request = Pick<RequestContext, 'client' | 'requestId'>

/** Begins the audit event of a call, which the transactions of a scope that is opened with it write. */
export function startAudit(
  { client, requestId }: Request,
  action: string,
  outcome: 'succeeded' | 'refused' = 'succeeded',
): AuditEntry {
  const context = { address: client.ipAddress, userAgent: client.userAgent, requestId }
  return new AuditEntry({ action, outcome, context })
}

/**
 * Records that a member or API key attempted what it may not do in the workspace that the call is about: the first attempt
 * of an action in a minute in each process, and a bounded number in a day, so that nobody can fill the table.
 */
export async function recordRefusal(
  ctx: RequestContext,
  { caller: user, key }: Pick<RequestContext, 'caller' | 'key'>,
  action: string,
): Promise<void> {
  const caller = key ?? user
  if (!caller || typeof caller.workspace !== 'object') return
  const scope = ctx.openScope(caller, caller.workspace.id, undefined, startAudit(ctx, action, 'refused'))
  try {
    await scope.cached(`refusal ${callerId(caller)} ${action}`, MINUTE, () => scope.transaction(dropIfMany))
  } catch (error) {
    ctx.log.warn({ event: 'audit_unrecorded', err: error, path: action }, 'a refused attempt could not be recorded')
  }
}

async function dropIfMany(tx: Scope): Promise<void> {
  const since = addMs(tx.now(), -DAY)
  const recorded = await tx.sql('listRecentRefusals')`
    select from audit_events where tenant_id = ${tx.tenantId} and actor_id = ${tx.actor.id} and outcome = 'refused'
      and created_at > ${since} limit ${REFUSALS_PER_DAY_MAX}`
  if (recorded.length >= REFUSALS_PER_DAY_MAX) tx.audit?.drop()
}

type Call = { input: unknown; ctx: { scope?: Scope }; next: () => Promise<object> }
type Middleware = (call: Call) => Promise<object>

/** Makes the mutations of a router tell the audit events of their calls what the input says, by its schema and REST path. */
export function describeInputs<R extends Procedures>(router: R): R {
  for (const procedure of Object.values(router._def.procedures)) {
    const definition: unknown = typeof procedure === 'function' ? Reflect.get(procedure, '_def') : undefined
    const middlewares = getField(definition, 'middlewares')
    const [schema] = toList(getField(definition, 'inputs'))
    const meta = getField(definition, 'meta') as ProcedureMeta | undefined
    const isAudited = getField(definition, 'type') === 'mutation' && meta?.role && meta.unaudited === undefined
    if (isAudited && Array.isArray(middlewares) && schema instanceof z.ZodType)
      middlewares.splice(-1, 0, describeInput(meta, schema))
  }
  return router
}

function toList(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}

function describeInput(meta: ProcedureMeta, schema: z.ZodType): Middleware {
  const segments = (meta.openapi?.path ?? '').split('/')
  const last = segments.at(-1) ?? ''
  const createdType = meta.status === 201 && last.endsWith('s') ? toType(last) : undefined
  const isAlias = meta.action !== undefined
  const fields = planFields(isAlias ? withoutData(schema) : schema, [])
  const targets = fields.flatMap(({ path: [name = ''], isId }) => {
    const index = segments.indexOf(`{${name}}`)
    return isId && index > 0 ? [{ name, type: toType(segments[index - 1] ?? '') }] : []
  })
  // The calls of aliases name objects in the body, and their features add these objects.
  const names = isAlias ? fields.filter(({ isId }) => isId).map(({ path: [name] }) => ({ name })) : targets
  const others = fields.filter(({ path: [name] }) => !names.some((target) => target.name === name))
  return function describeCall({ input, ctx, next }) {
    const values = isAlias ? { ...Object(input), ...Object(getField(input, 'data')) } : input
    const fieldsOfInput = others.flatMap((field) => readField(field, values))
    const named = targets.map(({ name, type }) => ({ type, id: getField(input, name) }))
    ctx.scope?.audit?.describe({
      targets: named.flatMap(({ type, id }) =>
        typeof id === 'string' && isUuid(id) ? [{ type, id: id.toLowerCase() }] : [],
      ),
      fields: fieldsOfInput,
      createdType,
      isEmpty: meta.openapi?.method === 'PATCH' && fieldsOfInput.length === 0,
    })
    return next()
  }
}

/** The aliases of better-auth have the fields of the operation in an object `data`. */
function withoutData(schema: z.ZodType): z.ZodType {
  if (!(schema instanceof z.ZodObject)) return schema
  const { data } = schema.shape
  return data instanceof z.ZodObject ? schema.omit({ data: true }).extend(data.shape) : schema
}

/** Converts a segment of a path, such as `api-keys`, to the type of its objects, such as `api_key`. */
export function toType(segment: string): string {
  return segment.replace(/s$/, '').replaceAll('-', '_')
}

type FieldPlan = Pick<AuditedField, 'path' | 'mayStore' | 'isWhole'> & { isId: boolean }

function readField({ path, mayStore, isWhole }: FieldPlan, input: unknown): AuditedField[] {
  const value = path.reduce(getField, input)
  return value === undefined ? [] : [{ path, mayStore, value, isWhole: isWhole && value !== null }]
}

/** Lists the fields of a schema. Free keys, texts, numbers and times are named at most: they may tell of people. */
function planFields(schema: z.core.$ZodType, path: string[]): FieldPlan[] {
  const inner = unwrap(schema)
  const isWhole = inner instanceof z.ZodObject && path.length < DEPTH_MAX
  const mayStore = toCheck(inner)
  const field = { path, isId: isId(inner), isWhole, mayStore: (value: unknown) => value === null || mayStore(value) }
  if (!isWhole) return [field]
  const fields = Object.entries(inner.shape).flatMap(([name, one]) => planFields(one, [...path, name]))
  return path.length > 0 ? [field, ...fields] : fields
}

function toCheck(schema: z.core.$ZodType): (value: unknown) => boolean {
  if (isId(schema)) return (value) => typeof value === 'string' && isUuid(value)
  if (schema instanceof z.ZodBoolean) return (value) => typeof value === 'boolean'
  if (schema instanceof z.ZodEnum || schema instanceof z.ZodLiteral) return (value) => schema.safeParse(value).success
  if (!(schema instanceof z.ZodArray)) return () => false
  const mayStore = toCheck(unwrap(schema.element))
  return (value) => Array.isArray(value) && value.length <= VALUES_MAX && value.every(mayStore)
}

function isId(schema: z.core.$ZodType): boolean {
  return z.globalRegistry.get(schema)?.['format'] === 'uuid'
}

/** Values are checked when they are read, so what a schema converts them to may be another type. */
function unwrap(schema: z.core.$ZodType): z.core.$ZodType {
  if (schema instanceof z.ZodPipe) return unwrap(schema.in)
  const isWrapper = schema instanceof z.ZodDefault || schema instanceof z.ZodOptional || schema instanceof z.ZodNullable
  return isWrapper ? unwrap(schema.unwrap()) : schema
}
