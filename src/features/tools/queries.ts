import { Tool as ToolRow } from '../../models/automation/tool.ts'
import { ConflictError } from '../../platform/errors.ts'
import type { Scope } from '../../scope.ts'
import { BUILTIN_TOOLS } from './builtin-tools.ts'
import type { Tool, ToolRef } from './schema.ts'
import { redactConfig } from './tool-headers.ts'
import { StepError } from '../../engine/language/step-error.ts'

export function toTool(row: ToolRow): Tool {
  const { sealedHeaders: _, config, ...shown } = row
  return { ...shown, kind: 'http', config: redactConfig(config) }
}

export async function getTool(scope: Scope, { id }: ToolRef): Promise<Tool> {
  return BUILTIN_TOOLS.find((tool) => tool.id === id) ?? toTool(await scope.get(ToolRow, id))
}

/** @throws ConflictError `tool_is_builtin` */
export function assertNotBuiltin(id: string): void {
  if (!BUILTIN_TOOLS.some((tool) => tool.id === id)) return
  throw new ConflictError('tool_is_builtin', 'A built-in tool cannot be changed. Create one of your own instead')
}

/** @throws ConflictError `name_taken` */
export function assertNotBuiltinName(name: string | undefined): void {
  if (!BUILTIN_TOOLS.some((tool) => tool.name === name)) return
  throw new ConflictError('name_taken', 'There is a built-in tool of this name. Choose another name')
}

/** The built-in ones, then the workspace's own, the newest first. */
export async function listTools(scope: Scope): Promise<{ items: Tool[] }> {
  const own = await scope.query(ToolRow).orderBy([
    { column: 'createdAt', order: 'desc' },
    { column: 'id', order: 'desc' },
  ])
  return { items: [...BUILTIN_TOOLS, ...own.map(toTool)] }
}

/** A tool that may be called now; `row` is there for one of the workspace's own. */
export type CallableTool = { tool: Tool; row: ToolRow | null }

/**
 * By its name, as workflows name it.
 * @throws StepError `unknown_tool`, `tool_disabled`
 */
export async function findCallableTool(scope: Scope, name: string): Promise<CallableTool> {
  const builtin = BUILTIN_TOOLS.find((tool) => tool.name === name)
  if (builtin) return { tool: builtin, row: null }
  const row: ToolRow | undefined = await scope.query(ToolRow).findOne({ name })
  if (!row)
    throw new StepError('unknown_tool', `The workspace has no tool "${name.slice(0, 64)}"`, { retryable: false })
  if (!row.enabled) throw new StepError('tool_disabled', `The tool "${name}" is switched off`, { retryable: false })
  return { tool: toTool(row), row }
}
