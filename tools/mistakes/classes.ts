/** Why the manifests do not show that a value is wrong. */
export const UNDECIDABLE = {
  optional: 'the field may be left out, and nothing else in the manifests asks for it',
  choice: 'both values are valid, and nothing else in the manifests depends on which one it is',
  outside:
    'it names something outside of the manifests, such as a client or a host, and nothing else names it',
} as const

export type Undecidable = keyof typeof UNDECIDABLE

/** The classes of mistakes, in the order of the table, and what is done to a manifest in each. */
export const CLASSES = {
  missing: 'a field is removed',
  'key misspelt': 'two letters of a field swapped, one left out, in snake case or in another case',
  'value misspelt': 'the same with a value of a closed list, a kind or an apiVersion',
  'wrong type': 'a number in quotes, a text in the place of a list, and the like',
  'wrong form': 'a duration, URL, ARN, region or name that its pattern refuses',
  'out of bounds': 'a number above its maximum, or below its minimum',
  emptied: 'a list or a text is empty',
  'item twice': 'an item of a list is repeated',
  'other value': 'another value of the same closed list',
  'flag turned': 'true in the place of false, and false of true',
  'reference misspelt': 'the name of an object that does not exist',
  'other object': 'the name of another object of the same kind',
  'other kind': 'the name of an object of another kind',
  'other namespace': 'an object in another namespace than the ones beside it',
  'own name misspelt': 'the name of an object itself',
  'Secret misspelt': 'the name of a Secret or ConfigMap',
  'Secret key misspelt': 'a key of a Secret or ConfigMap',
  'other issuer': 'an issuer at another host',
  'issuer with slash': 'an issuer with a slash at its end, or without the one that it has',
  'plain http': 'http in the place of https',
  'other host': 'a URL that is not an issuer, at another host',
  'other audience': 'another audience, or another URL of the resource',
  'provider misspelt': 'the name of an upstream provider that does not exist',
  'other provider': 'the name of another upstream provider of the same authorization server',
  'scope misspelt': 'a scope',
  'claim misspelt': 'a claim that a matcher or a field names',
  'matcher misspelt': 'a function of a matcher',
  'clause dropped': 'a matcher without its first or last clause',
  'operator changed': 'another operator in a matcher, such as `!=` for `==`, or `==` for `in`',
  'other account': 'a role of another AWS account',
  'other text': 'another text that is misspelt, such as a client id or a header',
} as const

export type Class = keyof typeof CLASSES
