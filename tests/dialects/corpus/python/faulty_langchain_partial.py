"""After LangChain's own how-to on partial prompts, where the date is filled in by a function."""

from datetime import datetime

from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder


def _get_datetime():
    now = datetime.now()
    return now.strftime("%m/%d/%Y, %H:%M:%S")


prompt = ChatPromptTemplate.from_messages(
    [
        ("system", """Asked at {date}.
1. Answer from the articles that are given to you, and say which one you used.
2. Never promise a refund, a date or a discount; offer to hand over to a colleague instead.
3. Keep answers under one hundred words unless the customer asks for more detail.
4. Reply in the language in which the customer writes, and keep product names as they are.
"""),
        MessagesPlaceholder("history"),
        ("human", "{question}"),
    ]
).partial(date=_get_datetime)
