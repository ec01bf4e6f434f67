import { problemAt, type Location, type Problem } from '../../engine/language/definition/problems.ts'
import { isUuid } from '../../platform/ids.ts'
import type { Scope } from '../../scope.ts'
import { BUILTIN_TOOLS } from '../tools/builtin-tools.ts'
import { listSteps, listTriggers, valuesAt } from '../workflows/stored-definition.ts'

export type Findings = { errors: Problem[]; warnings: Problem[] }

type Kind = 'group' | 'channel' | 'workflow' | 'member' | 'tool'

/** A name of something outside the definition. */
type Reference = { kind: Kind; place: Location; path: string; name: string }

/** Where definitions name something of the workspace, by the type of the trigger or step; `*` is every type. */
const OF_TRIGGERS: [type: string, at: string, kind: Kind][] = [
  ['message_received', 'channelId', 'channel'],
  ['schedule', 'groupId', 'group'],
  ['group_joined', 'groupId', 'group'],
  ['group_left', 'groupId', 'group'],
]
const OF_STEPS: [type: string, at: string, kind: Kind][] = [
  ['add_to_group', 'groupId', 'group'],
  ['remove_from_group', 'groupId', 'group'],
  ['run_workflow', 'workflowId', 'workflow'],
  ['assign', 'to.userId', 'member'],
  ['handoff', 'assign.userId', 'member'],
  ['tool', 'tool', 'tool'],
  ['ai', 'tools.*', 'tool'],
]

/** Whether everything that a definition names is there, in this workspace. */
export async function checkReferences(scope: Scope, definition: unknown): Promise<Findings> {
  const references = referencesIn(definition)
  const known = await loadKnown(scope, references)
  const found = references.map((reference) => judge(reference, known.get(reference.kind)?.get(reference.name)))
  return { errors: found.flatMap(({ error }) => error ?? []), warnings: found.flatMap(({ warning }) => warning ?? []) }
}

function referencesIn(definition: unknown): Reference[] {
  const parts = [
    ...listTriggers(definition).map((part) => ({ part, table: OF_TRIGGERS })),
    ...listSteps(definition).map((part) => ({ part, table: OF_STEPS })),
  ]
  return parts.flatMap(({ part, table }) =>
    table
      .filter(([type]) => type === part.fields['type'])
      .flatMap(([, at, kind]) => valuesAt(part, at).map((found) => ({ ...found, kind, place: part.place })))
      // What a placeholder comes to is only known when the step is taken.
      .flatMap(({ value, ...reference }) =>
        typeof value === 'string' && !value.includes('{{')
          ? [{ ...reference, name: nameOf(reference.kind, value) }]
          : [],
      ),
  )
}

/** Ids have one spelling in the database. */
function nameOf(kind: Kind, value: string): string {
  return kind === 'tool' ? value : value.toLowerCase()
}

/** Off: it is there, and not at work. */
type State = 'on' | 'off'

async function loadKnown(scope: Scope, references: Reference[]): Promise<Map<Kind, Map<string, State>>> {
  const known = new Map<Kind, Map<string, State>>()
  for (const kind of new Set(references.map((reference) => reference.kind))) {
    const names = references.filter((reference) => reference.kind === kind).map(({ name }) => name)
    known.set(kind, await LOADERS[kind](scope, names))
  }
  return known
}

type Loader = (scope: Scope, names: string[]) => Promise<Map<string, State>>

const LOADERS: Record<Kind, Loader> = {
  group: (scope, names) => loadStates(scope, { table: 'groups', names, state: `'on'` }),
  channel: (scope, names) =>
    loadStates(scope, { table: 'channels', names, state: `case status when 'disconnected' then 'off' else 'on' end` }),
  workflow: (scope, names) =>
    loadStates(scope, { table: 'workflows', names, state: `case status when 'published' then 'on' else 'off' end` }),
  member: async (scope, names) => {
    const rows = scope.db('memberships').where('workspace_id', scope.tenantId).whereIn('user_id', names.filter(isUuid))
    return new Map(((await rows.pluck('user_id')) as string[]).map((id) => [id, 'on']))
  },
  tool: async (scope, names) => {
    const own = await scope
      .db('tools')
      .where('tenant_id', scope.tenantId)
      .whereIn('name', names)
      .select<{ name: string; enabled: boolean }[]>('name', 'enabled')
    const rows = [...BUILTIN_TOOLS, ...own]
    return new Map(rows.map(({ name, enabled }) => [name, enabled ? 'on' : 'off']))
  },
}

async function loadStates(
  scope: Scope,
  { table, names, state }: { table: 'groups' | 'channels' | 'workflows'; names: string[]; state: string },
): Promise<Map<string, State>> {
  const rows = await scope
    .db(table)
    .where('tenant_id', scope.tenantId)
    .whereIn('id', names.filter(isUuid))
    .select<{ id: string; state: State }[]>('id', scope.db.raw(`${state} as state`))
  return new Map(rows.map((row) => [row.id, row.state]))
}

const ABSENT: Record<Kind, string> = {
  group: 'is not the id of a group of this workspace',
  channel: 'is not the id of a channel of this workspace',
  workflow: 'is not the id of a workflow of this workspace',
  member: 'is not the id of a member of this workspace: the conversation will stay as it is',
  tool: 'is not the name of a tool of this workspace',
}

const OFF: Partial<Record<Kind, [code: string, what: string]>> = {
  channel: ['channel_disconnected', 'is a channel that is disconnected: nothing comes in on it'],
  workflow: ['workflow_not_published', 'is a workflow that is not published: it cannot be run as it is'],
  tool: ['tool_disabled', 'is a tool that is switched off: calling it fails'],
}

/** A member may leave between publishing and running, so a stranger is no error either. */
function judge({ kind, place, path, name }: Reference, state?: State): { error?: Problem; warning?: Problem } {
  const named = JSON.stringify(name.slice(0, 100))
  if (state === undefined) {
    const problem = problemAt(place, path, `unknown_${kind}`, `${named} ${ABSENT[kind]}`)
    return kind === 'member' ? { warning: problem } : { error: problem }
  }
  const off = state === 'off' ? OFF[kind] : undefined
  return off ? { warning: problemAt(place, path, off[0], `${named} ${off[1]}`) } : {}
}
