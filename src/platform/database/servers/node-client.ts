import { isUuid } from '../../ids.ts'
import { PreparingClient, type Query } from './preparing-client.ts'

/** A parameter, with the column before it if the condition is that a row is of a workspace. */
const PARAMETER = /(\btenant_id = )?\$(\d+)/g

/**
 * A connection to a node of a distributed database. Citus plans a statement of one table as one of the shard if the text
 * names the workspace, and otherwise writes a text for the shard, which it parses and plans again. Statements have no
 * names, as each needs a plan for its values. Those of the server itself, which check foreign keys, keep their plans.
 */
export class NodeClient extends PreparingClient {
  protected override prepare(query: Query): Query {
    return nameWorkspace(query)
  }
}

/** Writes the workspace into the conditions of a statement, in place of the parameters that bind it. */
export function nameWorkspace({ text, values, ...query }: Query): Query {
  const bound: unknown[] = []
  const numbers = new Map<string, number>()
  const named = text.replace(PARAMETER, (_, column = '', number: string) => {
    const value = values[Number(number) - 1]
    if (column !== '' && typeof value === 'string' && isUuid(value)) return `${column}'${value}'`
    if (!numbers.has(number)) numbers.set(number, bound.push(value))
    return `${column}$${numbers.get(number)}`
  })
  return { ...query, text: named, values: bound }
}
