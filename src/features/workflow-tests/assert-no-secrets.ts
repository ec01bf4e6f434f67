import { UnprocessableError } from '../../platform/errors.ts'
import { findSecretValue } from '../../platform/security/literal-secret.ts'

const PROBLEM =
  'contains what seems to be a secret, and every member can read tests. Create the test with an invented value of fewer than 16 characters'

/**
 * Refuses to store secrets in the data of a test.
 * @throws UnprocessableError `literal_secret`
 */
export function assertNoSecrets(data: object): void {
  const path = findSecretValue(data)
  if (path === undefined) return
  throw new UnprocessableError('literal_secret', `${path} ${PROBLEM}`, [{ path, message: PROBLEM }])
}
