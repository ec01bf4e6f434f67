import { StepError } from '../../engine/language/step-error.ts'
import { Tool as ToolRow } from '../../models/automation/tool.ts'
import type { Scope } from '../../scope.ts'
import { BUILTIN_TOOLS } from './builtin-tools.ts'
import type { Tool } from './schema.ts'
import { toTool } from './tool-query.ts'

/** A tool that may be called now; `row` is there for one of the workspace's own. */
export type CallableTool = { tool: Tool; row: ToolRow | null }

/**
 * By its name, as workflows name it.
 * @throws StepError `unknown_tool`, `tool_disabled`
 */
export async function findTool(scope: Scope, name: string): Promise<CallableTool> {
  const builtin = BUILTIN_TOOLS.find((tool) => tool.name === name)
  if (builtin) return { tool: builtin, row: null }
  const row: ToolRow | undefined = await scope.query(ToolRow).findOne({ name })
  if (!row)
    throw new StepError('unknown_tool', `The workspace has no tool "${name.slice(0, 64)}"`, { retryable: false })
  if (!row.enabled) throw new StepError('tool_disabled', `The tool "${name}" is switched off`, { retryable: false })
  return { tool: toTool(row), row }
}
