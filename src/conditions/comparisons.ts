import { defineOperator } from '../engine/language/conditions.ts'
import { compareOrder, isEqual, isText, toList } from './compare.ts'

export const eq = defineOperator({ name: 'eq', test: isEqual })
export const ne = defineOperator({ name: 'ne', test: (left, right) => !isEqual(left, right) })
export const gt = orderOperator('gt', (order) => order > 0)
export const gte = orderOperator('gte', (order) => order >= 0)
export const lt = orderOperator('lt', (order) => order < 0)
export const lte = orderOperator('lte', (order) => order <= 0)

export const isIn = defineOperator({
  name: 'in',
  test: (left, right) => toList(right).some((entry) => isEqual(left, entry)),
})

export const notIn = defineOperator({
  name: 'not_in',
  test: (left, right) => !toList(right).some((entry) => isEqual(left, entry)),
})

export const exists = defineOperator({
  name: 'exists',
  isUnary: true,
  test: (left, right) => (left !== null) === (right !== false),
})

export const empty = defineOperator({
  name: 'empty',
  isUnary: true,
  test: (left, right) => isEmpty(left) === (right !== false),
})

function orderOperator(name: string, holds: (order: number) => boolean) {
  return defineOperator({
    name,
    test(left, right, { timezone }) {
      const order = compareOrder(left, right, timezone)
      return order !== undefined && holds(order)
    },
  })
}

function isEmpty(value: unknown): boolean {
  if (value === null) return true
  if (isText(value)) return value.trim() === ''
  return typeof value === 'object' && Object.keys(value).length === 0
}
