"""Sign a message of EIP-712 with eth_account: `python sign_typed.py PRIVATE_KEY MESSAGE`, MESSAGE as JSON. Writes the signature."""

import json
import sys

from eth_account import Account

account = Account.from_key(sys.argv[1])
print(account.sign_typed_data(full_message=json.loads(sys.argv[2])).signature.hex())
