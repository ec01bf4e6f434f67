import { Tool as ToolRow } from '../../models/automation.ts'
import { ConflictError } from '../../platform/errors.ts'
import type { Scope } from '../../scope/scope.ts'
import { BUILTIN_TOOLS } from './builtin-tools.ts'
import type { Tool, ToolRef } from './schema.ts'
import { redactConfig } from './tool-headers.ts'
import { StepError } from '../../engine/language/step-error.ts'

function toTool(row: ToolRow): Tool {
  const { sealedHeaders: _, config, ...shown } = row
  return { ...shown, type: 'http', config: redactConfig(config) }
}

export async function getTool(scope: Scope, { toolId }: ToolRef): Promise<Tool> {
  return BUILTIN_TOOLS.find((tool) => tool.id === toolId) ?? toTool(await scope.get(ToolRow, toolId))
}

/** @throws ConflictError `tool_is_builtin` */
export function assertNotBuiltin(id: string): void {
  if (!BUILTIN_TOOLS.some((tool) => tool.id === id)) return
  throw new ConflictError('tool_is_builtin', 'Built-in tools cannot be changed. Create a tool instead')
}

/** @throws ConflictError `name_taken` */
export function assertNotBuiltinName(name: string | undefined): void {
  if (!BUILTIN_TOOLS.some((tool) => tool.name === name)) return
  throw new ConflictError('name_taken', 'A built-in tool has this name. Choose another name')
}

/** Lists the built-in tools, then those of the workspace, newest first. */
export async function listTools(scope: Scope): Promise<{ items: Tool[] }> {
  const rows = await scope.query(ToolRow).orderBy([
    { column: 'createdAt', order: 'desc' },
    { column: 'id', order: 'desc' },
  ])
  return { items: [...BUILTIN_TOOLS, ...rows.map(toTool)] }
}

/** A tool that exists and is enabled; `row` is null for a built-in one. */
export type CallableTool = { tool: Tool; row: ToolRow | null }

/**
 * Finds a tool by the name that workflows use.
 * @throws StepError `unknown_tool`, `tool_disabled`
 */
export async function findCallableTool(scope: Scope, name: string): Promise<CallableTool> {
  const builtin = BUILTIN_TOOLS.find((tool) => tool.name === name)
  if (builtin) return { tool: builtin, row: null }
  const row: ToolRow | undefined = await scope.query(ToolRow).findOne({ name })
  if (!row)
    throw new StepError(
      'unknown_tool',
      `The workspace has no tool "${name.slice(0, 64)}". Create it, or use another tool`,
      { retryable: false },
    )
  if (!row.enabled)
    throw new StepError('tool_disabled', `The tool "${name}" is disabled. Enable it first`, { retryable: false })
  return { tool: toTool(row), row }
}
