import { UnprocessableError } from '../../platform/errors.ts'
import { findSecretValue } from '../../platform/security/literal-secret.ts'

/** The list of the tests of a workflow returns all of them. */
const TEST_BYTES_MAX = 256 * 1024
const SECRET =
  'contains what seems to be a secret, and every member can read tests. Create the test with an invented value of fewer than 16 characters'

/**
 * Checks the data of a test: its size, and that it contains no secret.
 * @throws UnprocessableError `test_too_large`, `literal_secret`
 */
export function assertStorable(data: object): void {
  if (Buffer.byteLength(JSON.stringify(data)) > TEST_BYTES_MAX) {
    throw new UnprocessableError('test_too_large', 'A test has at most 256 KB. Create one with shorter step outputs')
  }
  const path = findSecretValue(data)
  if (path === undefined) return
  throw new UnprocessableError('literal_secret', `${path} ${SECRET}`, [{ path, message: SECRET }])
}
