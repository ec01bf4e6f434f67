import type { Knex } from 'knex'
import { Model, QueryBuilder, type Page, type QueryContext, snakeCaseMappers } from 'objection'

type WhereStatement = { grouping: string; bool?: string }
/** Members that the types of Knex and Objection leave out. */
type Statements = { _statements: WhereStatement[] }
type BuildKnex = (this: unknown, builder: Knex.QueryBuilder) => Knex.QueryBuilder & Statements

/**
 * Query builder that adds the tenant to every statement, after all other clauses are known, so that an `orWhere` cannot
 * widen it; rows of deleted contacts that are not purged yet are left out. A query whose context has no tenant throws. It
 * covers neither `union` nor raw SQL.
 */
export class TenantQueryBuilder<M extends Model, R = M[]> extends QueryBuilder<M, R> {
  declare ArrayQueryBuilderType: TenantQueryBuilder<M, M[]>
  declare SingleQueryBuilderType: TenantQueryBuilder<M, M>
  declare MaybeSingleQueryBuilderType: TenantQueryBuilder<M, M | undefined>
  declare NumberQueryBuilderType: TenantQueryBuilder<M, number>
  declare PageQueryBuilderType: TenantQueryBuilder<M, Page<M>>

  /** Objection calls this for every statement before it runs, including joins and subqueries. */
  executeOnBuildKnex(builder: Knex.QueryBuilder): Knex.QueryBuilder {
    const buildKnex: BuildKnex = Reflect.get(QueryBuilder.prototype, 'executeOnBuildKnex')
    const isPartial: (this: unknown) => boolean = Reflect.get(QueryBuilder.prototype, 'isPartial')
    const built = buildKnex.call(this, builder)
    if (isPartial.call(this)) return built
    const tenantId: unknown = Reflect.get(this.context(), 'tenantId')
    const table = this.modelClass().tableName
    if (typeof tenantId !== 'string' || tenantId === '')
      throw new Error(`A query on ${table} has no tenant in its context. Run it through a scope.`)
    if (this.isInsert()) return built
    const wheres = built._statements.filter((statement) => statement.grouping === 'where')
    if (wheres.some((statement) => statement.bool === 'or')) {
      built._statements = built._statements.filter((statement) => statement.grouping !== 'where')
      void built.where((group) => {
        const statements: WhereStatement[] = Reflect.get(group, '_statements')
        statements.push(...wheres)
      })
    }
    const alias = this.tableRefFor(this.modelClass())
    if (Reflect.get(this.modelClass(), 'outlivesContact') === true) {
      const isOfDeleted = '?? = any(array(select gone.contact_id from contact_purges gone where gone.tenant_id = ?))'
      void built.whereRaw(`(${isOfDeleted}) is not true`, [`${alias}.contact_id`, tenantId])
    }
    return built.where(`${alias}.tenant_id`, tenantId)
  }
}

export class TenantModel extends Model {
  declare QueryBuilderType: TenantQueryBuilder<this>
  static override QueryBuilder = TenantQueryBuilder
  static override columnNameMappers = snakeCaseMappers()
  static override idColumn: string | string[] = ['tenant_id', 'id']
  /** True if rows of a deleted contact are left until it is purged. */
  static outlivesContact = false

  declare tenantId: string

  override $beforeInsert({ tenantId }: QueryContext): void {
    this.tenantId = tenantId
  }

  /** Prevents updates from moving a row to another tenant. */
  override $beforeUpdate(): void {
    Reflect.deleteProperty(this, 'tenantId')
  }
}

/** A class of rows, with the query builder of its rows. */
export type TenantModelClass<M extends TenantModel> = {
  new (): M
  readonly tableName: string
  query(this: new () => NoInfer<M>, db: Knex): NoInfer<M>['QueryBuilderType']
}

/** A row with the member or API key that created it; the type is null if a version has written it that stores none. */
export class CreatedModel extends TenantModel {
  declare createdBy: string | null
  declare createdByType: string | null
}
