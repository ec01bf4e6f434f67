import { Tool as ToolRow } from '../../models/automation/tool.ts'
import { newId } from '../../platform/ids.ts'
import { assertCallable } from '../../platform/outbound/assert-callable.ts'
import { toUniqueNameError } from '../../platform/database/unique-name.ts'
import type { Scope } from '../../scope.ts'
import { assertUsableSchemas } from './assert-usable-schemas.ts'
import type { CreateTool, Tool } from './schema.ts'
import { keepHeaders, sealConfig } from './tool-headers.ts'
import { getTool, assertNotBuiltinName } from './tool-query.ts'

export async function createTool(scope: Scope, { enabled = true, config: given, ...input }: CreateTool): Promise<Tool> {
  assertNotBuiltinName(input.name)
  assertCallable(given.url, 'config.url', scope)
  const config = keepHeaders(given)
  await assertUsableSchemas(scope, input)
  return toUniqueNameError('tool', () =>
    scope.transaction(async (tx) => {
      const id = newId()
      const now = tx.now()
      await tx
        .query(ToolRow)
        .insert({ ...input, ...sealConfig(tx, id, config), id, enabled, createdAt: now, updatedAt: now })
      return getTool(tx, { id })
    }),
  )
}
