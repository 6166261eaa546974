import { type Cluster, isAbsent, nameText, type ObjectName } from '../rule/index.ts'

/** Says why a field has no value: it is missing, or it is a placeholder or of a wrong JSON type. */
export function unreadable<T extends object>(
  holder: T,
  field: keyof T & string,
  text: string = field,
): string {
  return isAbsent(holder, field) ? `${text} is missing` : `${text} is a placeholder or of a wrong JSON type`
}

/** Says that the specification does not list the value of a field (`what`); operator releases may support the value. */
export const notSpecified = (what: string, value: string): string =>
  `${what} ${JSON.stringify(value)} is not in the specification`

/** Why an object of this kind is not known: it does not exist, or its kind cannot be read. */
export const absence = (kind: string, cluster: Cluster): string =>
  `${cluster.knows(kind) ? 'not found' : 'could not be looked for'} ${cluster.where}`

/** Says which object (by kind and name) is not known, and why. */
export const notFound = (name: ObjectName, cluster: Cluster): string =>
  `${nameText(name)} ${absence(name.kind, cluster)}`
