import { Group as GroupRow } from '../../models/contacts/group.ts'
import type { Scope } from '../../scope.ts'
import type { Page } from '../../trpc/schemas.ts'
import { groupQuery } from './group-query.ts'
import type { Group, ListGroups } from './schema.ts'

export async function listGroups(scope: Scope, { limit, offset }: ListGroups): Promise<Page<Group>> {
  const [total, rows] = await Promise.all([
    scope.query(GroupRow).resultSize(),
    groupQuery(scope)
      .orderBy([
        { column: 'createdAt', order: 'desc' },
        { column: 'id', order: 'desc' },
      ])
      .limit(limit)
      .offset(offset),
  ])
  return { items: rows as unknown as Group[], total }
}
