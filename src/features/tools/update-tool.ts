import { Tool as ToolRow } from '../../models/automation.ts'
import { definedFields } from '../../platform/defined-fields.ts'
import { toUniqueNameError } from '../../platform/database/unique-name.ts'
import type { Scope } from '../../scope/scope.ts'
import { assertConfig, lockCredential } from './assert-config.ts'
import { assertUsableSchemas } from './assert-usable-schemas.ts'
import type { Tool, UpdateTool } from './schema.ts'
import { keepHeaders, openHeaders, sealConfig } from './tool-headers.ts'
import { getTool, assertNotBuiltin, assertNotBuiltinName } from './queries.ts'

export async function updateTool(scope: Scope, { toolId, config, ...columns }: UpdateTool): Promise<Tool> {
  assertNotBuiltin(toolId)
  assertNotBuiltinName(columns.name)
  if (config) assertConfig(config, scope)
  await assertUsableSchemas(scope, columns)
  return toUniqueNameError('tool', () =>
    scope.transaction(async (tx) => {
      const existing = await tx.lock(ToolRow, toolId)
      if (config) await lockCredential(tx, config)
      const headers = openHeaders(tx, existing)
      const newConfig = config
        ? keepHeaders(config, { url: existing.config.url, headers })
        : { ...existing.config, ...(existing.config.headers ? { headers } : {}) }
      await tx
        .query(ToolRow)
        .findOne('id', toolId)
        .patch({ ...definedFields(columns), ...sealConfig(tx, toolId, newConfig), updatedAt: tx.now() })
      return getTool(tx, { toolId })
    }),
  )
}
