// Made by scripts/dapp_code.py: do not edit.
export const builtCode = {
 "Accounts": {
  "size": 12681,
  "hash": "0xc37e5928ac4cceb71047e4c2498d71d5cfd71172dd5b42e87781fdbd4c38cf4e",
  "holes": {
   "_cachedChainId": [
    8466
   ],
   "_cachedDomainSeparator": [
    8508
   ],
   "_cachedThis": [
    8424
   ],
   "_groupCodeHash": [
    1129,
    2257
   ],
   "_hashedName": [
    8589
   ],
   "_hashedVersion": [
    8629
   ],
   "_name": [
    8721
   ],
   "_version": [
    8764
   ],
   "factory": [
    679,
    3113,
    5406
   ],
   "groupImplementation": [
    640,
    2216,
    2315,
    4956,
    5813
   ]
  }
 },
 "Committee": {
  "size": 22185,
  "hash": "0x9c93f45638b9e6d8bddaacebfade61ca82c2247617e1c9585a9062e28c6b4a40",
  "holes": {
   "_accounts": [
    657,
    11828,
    12747,
    12791
   ]
  }
 },
 "Controller": {
  "size": 22384,
  "hash": "0x5813bcda7f94962b7a291f4e2cf526a056527b9193964e26bb636a894dcc72a2",
  "holes": {
   "_accounts": [
    8357,
    8401,
    13138
   ],
   "_self": [
    6154
   ],
   "extension": [
    347,
    485
   ]
  }
 },
 "ControllerExt": {
  "size": 19966,
  "hash": "0xb4f2040a8d03cd1fcc39860e5c4665316c560851a623c5bc56f8ab5d0f35f1d9",
  "holes": {
   "_accounts": [
    1170,
    9415,
    9459
   ],
   "moves": [
    586,
    629
   ]
  }
 },
 "ControllerFactory": {
  "size": 3964,
  "hash": "0x2e5cf8bca12294d203805ab98d2c24bf4b65044773b541dee14b925983dff863",
  "holes": {
   "_committee": [
    720
   ],
   "_directory": [
    846
   ],
   "_faults": [
    762
   ],
   "_reputation": [
    804
   ],
   "accounts": [
    268
   ],
   "implementation": [
    229,
    981
   ]
  }
 },
 "ControllerMoves": {
  "size": 17655,
  "hash": "0x4ec9ead08fa839a7b6f9fb9c0fdcb60675889a57d4555e65a96236ec0040c521",
  "holes": {
   "_accounts": [
    373,
    1595,
    1778,
    3263,
    6301,
    10135,
    10179
   ]
  }
 },
 "Directory": {
  "size": 1669,
  "hash": "0xaaa5d9715b48889457fdfff73990e4b2cad581d055178548079575b3bd5a91bb",
  "holes": {
   "_accounts": [
    273,
    1005,
    1049
   ]
  }
 },
 "Faults": {
  "size": 20477,
  "hash": "0x0c5b8a28667f65f6af48cc57238d06b71037a462a51517da8d27eb9bea70c4d4",
  "holes": {
   "_accounts": [
    677,
    8321,
    8365,
    8512
   ]
  }
 },
 "GroupAccount": {
  "size": 1166,
  "hash": "0xc99f1b3ab4397682196582216e232af0c5bc770c5a493567e87a2c06c077173f",
  "holes": {
   "_accounts": [
    158,
    334
   ]
  }
 },
 "Reputation": {
  "size": 4318,
  "hash": "0x93a45f2cbaae20a9b6872ad10220a27282ef7b5484605b85e3cb6415565ed500",
  "holes": {
   "_accounts": [
    190,
    1880,
    1924
   ]
  }
 }
} as const;
