import { problemAt, type Problem } from '../../engine/language/definition/problems.ts'
import { isUuid } from '../../platform/ids.ts'
import { sqlText } from '../../platform/database/statements/statement.ts'
import type { Scope } from '../../scope/scope.ts'
import { BUILTIN_TOOLS } from '../tools/builtin-tools.ts'
import type { Reference, ReferenceKind } from './list-references.ts'

type ReferenceProblems = { errors: Problem[]; warnings: Problem[] }

/** Checks that everything a definition refers to exists in this workspace. */
export async function checkReferences(scope: Scope, references: Reference[]): Promise<ReferenceProblems> {
  const states = await loadStatesByKind(scope, references)
  const problems = references.map((reference) =>
    checkReference(reference, states.get(reference.kind)?.get(reference.name)),
  )
  return {
    errors: problems.flatMap(({ error }) => error ?? []),
    warnings: problems.flatMap(({ warning }) => warning ?? []),
  }
}

/** `off` exists and is not in operation. */
type State = 'on' | 'off'

async function loadStatesByKind(
  scope: Scope,
  references: Reference[],
): Promise<Map<ReferenceKind, Map<string, State>>> {
  const states = new Map<ReferenceKind, Map<string, State>>()
  for (const kind of new Set(references.map((reference) => reference.kind))) {
    const names = references.filter((reference) => reference.kind === kind).map(({ name }) => name)
    states.set(kind, await LOADERS[kind](scope, names))
  }
  return states
}

type Loader = (scope: Scope, names: string[]) => Promise<Map<string, State>>

const LOADERS: Record<ReferenceKind, Loader> = {
  group: (scope, names) => loadStates(scope, { table: 'groups', names, state: `'on'` }),
  channel: (scope, names) =>
    loadStates(scope, { table: 'channels', names, state: `case status when 'disconnected' then 'off' else 'on' end` }),
  broadcast: (scope, names) => loadStates(scope, { table: 'broadcasts', names, state: `'on'` }),
  credential: (scope, names) => loadStates(scope, { table: 'http_credentials', names, state: `'on'` }),
  workflow: (scope, names) =>
    loadStates(scope, { table: 'workflows', names, state: `case status when 'published' then 'on' else 'off' end` }),
  member: async (scope, names) => {
    const rows = await scope.sql<{ userId: string }>('findMembers')`
      select user_id from memberships where workspace_id = ${scope.tenantId} and user_id = any(${names.filter(isUuid)})`
    return new Map(rows.map(({ userId }) => [userId, 'on']))
  },
  tool: async (scope, names) => {
    const workspaceTools = await scope.sql<{ name: string; enabled: boolean }>('findTools')`
      select name, enabled from tools where tenant_id = ${scope.tenantId} and name = any(${names})`
    const rows = [...BUILTIN_TOOLS, ...workspaceTools]
    return new Map(rows.map(({ name, enabled }) => [name, enabled ? 'on' : 'off']))
  },
}

async function loadStates(
  scope: Scope,
  {
    table,
    names,
    state,
  }: { table: 'groups' | 'channels' | 'workflows' | 'http_credentials' | 'broadcasts'; names: string[]; state: string },
): Promise<Map<string, State>> {
  const rows = await scope.sql<{ id: string; state: State }>('loadStates')`
    select id, ${sqlText(state)} as state from ${sqlText(table)}
    where tenant_id = ${scope.tenantId} and id = any(${names.filter(isUuid)})`
  return new Map(rows.map((row) => [row.id, row.state]))
}

const MISSING: Record<ReferenceKind, string> = {
  group: 'is not the ID of a group of this workspace',
  channel: 'is not the ID of a channel of this workspace',
  workflow: 'is not the ID of a workflow of this workspace',
  member: 'is not the ID of a member of this workspace: the step will not assign the conversation',
  broadcast:
    'is not the ID of a broadcast of this workspace: no reply starts the workflow. Leave it out for replies to all broadcasts',
  credential: 'is not the ID of a credential of this workspace. Create one with POST /api/credentials',
  tool: 'is not the name of a tool of this workspace',
}

const OFF: Partial<Record<ReferenceKind, [code: string, description: string]>> = {
  channel: ['channel_disconnected', 'is a disconnected channel: it receives no messages'],
  workflow: ['workflow_not_published', 'is a workflow that is not published: running it fails until it is'],
  tool: ['tool_disabled', 'is a disabled tool: calling it fails'],
}

/** An unknown member is only a warning, since a member may leave after publishing anyway. */
function checkReference(
  { kind, location, path, name }: Reference,
  state?: State,
): { error?: Problem; warning?: Problem } {
  const named = JSON.stringify(name.slice(0, 100))
  if (state === undefined) {
    const problem = problemAt(location, path, `unknown_${kind}`, `${named} ${MISSING[kind]}`)
    return kind === 'member' ? { warning: problem } : { error: problem }
  }
  const off = state === 'off' ? OFF[kind] : undefined
  return off ? { warning: problemAt(location, path, off[0], `${named} ${off[1]}`) } : {}
}
