import type { Area } from '../mutant.ts'

const IDEMPOTENCY = 'src/trpc/idempotency.ts'
const MODEL = 'src/models/tenant-model.ts'

export const TRPC: Area = {
  name: 'trpc',
  tests: [
    'integration/api/spec.test.ts',
    'integration/api/contacts.test.ts',
    'integration/tenant-isolation.test.ts',
    'integration/api/error-codes.test.ts',
  ],
  mutants: [
    {
      name: 'the answer to a request with an idempotency key is that to another caller',
      file: 'src/trpc/idempotency.ts',
      original: 'and caller_id in (${scope.actor.id}, ${ANY_CALLER})',
      mutated: '',
      tests: ['integration/auth/api-keys.test.ts'],
    },
    {
      name: 'a role may do what needs the next higher one',
      file: 'src/scope/dependencies.ts',
      original: 'ROLES.indexOf(role) >= ROLES.indexOf(other)',
      mutated: 'ROLES.indexOf(role) + 1 >= ROLES.indexOf(other)',
    },
    {
      name: 'a workspace that was refused is opened',
      file: 'src/trpc/procedures.ts',
      original: `if (!caller || caller.workspace === 'missing') throw new UnauthorizedError()`,
      mutated: `if (!caller) throw new UnauthorizedError()
    if (caller.workspace === 'missing') throw new ForbiddenError()`,
    },
    {
      name: 'a key of another request returns its answer',
      file: IDEMPOTENCY,
      original: '!existing || existing.requestHash.equals(hash)',
      mutated: 'true',
    },
    {
      name: 'keys of one tenant are found by another',
      file: IDEMPOTENCY,
      original: 'where tenant_id = ${scope.tenantId} and route',
      mutated: 'where route',
      tests: ['integration/platform/scope.test.ts'],
    },
    {
      name: 'two concurrent calls with one key both run',
      file: IDEMPOTENCY,
      original: 'if (!lock?.isLocked) {',
      mutated: 'if (false) {',
      equivalent:
        'The primary key of idempotency_keys lets the second call wait and fail; only its status would differ',
    },
    {
      name: 'keys expire after twelve hours',
      file: 'src/features/retention/purge-rows.ts',
      original: 'addMs(system.now(), -DAY)',
      mutated: 'addMs(system.now(), -DAY / 2)',
      tests: ['integration/platform/scope.test.ts'],
    },
    {
      name: 'an or-condition widens a query to all tenants',
      file: MODEL,
      original: `if (wheres.some((statement) => statement.bool === 'or')) {`,
      mutated: 'if (false) {',
      tests: ['integration/platform/scope.test.ts'],
    },
    {
      name: 'queries of models do not name the tenant',
      file: MODEL,
      original: 'return built.where(`${alias}.tenant_id`, tenantId)',
      mutated: 'return built',
      tests: ['integration/tenant-isolation.test.ts'],
    },
    {
      name: 'an update moves a row to another tenant',
      file: MODEL,
      original: `Reflect.deleteProperty(this, 'tenantId')`,
      mutated: '',
      equivalent: 'No schema accepts tenantId, so no update contains it',
    },
    {
      name: 'a deadlock is not repeated',
      file: 'src/scope/scope.ts',
      original: 'attemptsMax: 3',
      mutated: 'attemptsMax: 1',
      tests: ['integration/platform/scope.test.ts'],
    },
    {
      name: 'a subscriber keeps receiving after a revocation',
      file: 'src/trpc/access-checks.ts',
      original: 'this.#trustedUntil = 0\n      this.report()',
      mutated: 'this.report()',
      tests: ['integration/live/live-rights.test.ts'],
    },
    {
      name: 'a query that finds nothing by ID is answered for another tenant',
      file: 'src/scope/scope.ts',
      original: `const row: TenantModel | undefined = await this.query<M>(model).findOne('id', id)
    return row`,
      mutated: `const row: TenantModel | undefined = await this.query<M>(model).first()
    return row`,
    },
  ],
}
