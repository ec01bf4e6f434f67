import { adminProcedure, router, viewerProcedure } from '../../trpc/procedures.ts'
import { rest } from '../../trpc/rest.ts'
import { empty, omittable } from '../../trpc/schemas.ts'
import { createTag, deleteTag, updateTag } from './changes.ts'
import { getTag, listTags } from './queries.ts'
import { CreateTag, Tag, TagRef, Tags, UpdateTag } from './schema.ts'

const DELETE = { status: 204, description: 'The tag is removed from all contacts.' } as const

export const tagsRouter = router({
  list: viewerProcedure
    .meta(
      rest('GET', '/tags', 'List tags', {
        description: 'Returns all tags with the number of contacts that have each.',
      }),
    )
    .input(omittable(empty.strict()))
    .output(Tags)
    .query(({ ctx }) => listTags(ctx.scope)),

  create: adminProcedure
    .meta(
      rest('POST', '/tags', 'Create a tag', {
        description: 'Names of tags are unique in the workspace; upper and lower case are the same.',
        status: 201,
      }),
    )
    .input(CreateTag)
    .output(Tag)
    .mutation(({ ctx, input }) => createTag(ctx.scope, input)),

  get: viewerProcedure
    .meta(
      rest('GET', '/tags/{tagId}', 'Get a tag', {
        description: 'Returns the tag with the number of contacts that have it.',
      }),
    )
    .input(TagRef)
    .output(Tag)
    .query(({ ctx, input }) => getTag(ctx.scope, input)),

  update: adminProcedure
    .meta(rest('PATCH', '/tags/{tagId}', 'Update a tag', { description: 'Fields that are left out stay as they are.' }))
    .input(UpdateTag)
    .output(Tag)
    .mutation(({ ctx, input }) => updateTag(ctx.scope, input)),

  delete: adminProcedure
    .meta(rest('DELETE', '/tags/{tagId}', 'Delete a tag', DELETE))
    .input(TagRef)
    .output(empty)
    .mutation(({ ctx, input }) => deleteTag(ctx.scope, input)),
})
